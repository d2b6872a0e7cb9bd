/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter that imports the module and calls its function on steps from standard input. */
#include "py/dynruntime.h"
#include "steps.h"

#include <stdlib.h>

static const mp_obj_fun_builtin_fixed_t *function;

void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, unsigned flags)
{
    (void)flags;
    *info = *(const mp_buffer_info_t *)object;
}

void mp_raise_ValueError(const char *text)
{
    fputs(text, stderr);
    exit(1);
}

mp_obj_t mp_obj_new_int(intptr_t value)
{
    return (mp_obj_t)value;
}

mp_obj_t mp_obj_new_tuple(size_t count, const mp_obj_t *items)
{
    for (size_t i = 0; i < count; i++) {
        printf("%d%s", (int)(intptr_t)items[i], (i + 1u < count) ? " " : "\n");
    }
    return NULL;
}

void mp_store_global(const char *name, mp_obj_t object)
{
    (void)name;
    function = object;
}

int main(void)
{
    double numbers[TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH];
    uint8_t posterior[TCUQ_DEVICE_CLASSES];
    int8_t features[TCUQ_DEVICE_WIDTH];
    mp_buffer_info_t bytes = {posterior, sizeof posterior, 'B'};
    mp_buffer_info_t codes = {features, sizeof features, 'b'};
    mp_obj_fun_bc_t self = {NULL};
    (void)mpy_init(&self, 0, 0, NULL);
    while (read_step(numbers, TCUQ_DEVICE_CLASSES + TCUQ_DEVICE_WIDTH)) {
        for (unsigned i = 0u; i < TCUQ_DEVICE_CLASSES; i++) {
            posterior[i] = (uint8_t)numbers[i];
        }
        for (unsigned i = 0u; i < TCUQ_DEVICE_WIDTH; i++) {
            features[i] = (int8_t)numbers[TCUQ_DEVICE_CLASSES + i];
        }
        (void)function->call(&bytes, &codes);
    }
    return 0;
}
