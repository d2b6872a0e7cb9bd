/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in MicroPython's header of this name: what the page uses. */
#ifndef DYNRUNTIME_H
#define DYNRUNTIME_H

#include <stddef.h>
#include <stdint.h>

typedef void *mp_obj_t;
typedef struct {
    void *context;
} mp_obj_fun_bc_t;
typedef struct {
    void *buf;
    size_t len;
    int typecode;
} mp_buffer_info_t;
typedef struct {
    mp_obj_t (*call)(mp_obj_t, mp_obj_t);
} mp_obj_fun_builtin_fixed_t;

#define MP_BUFFER_READ (1)
#define MP_ERROR_TEXT(text) text
#define MP_OBJ_FROM_PTR(pointer) ((mp_obj_t)(pointer))
#define MP_DEFINE_CONST_FUN_OBJ_2(name, function) const mp_obj_fun_builtin_fixed_t name = {function}
#define MP_QSTR_step "step"
#define MP_DYNRUNTIME_INIT_ENTRY (void)self, (void)n_args, (void)n_kw, (void)args;
#define MP_DYNRUNTIME_INIT_EXIT return NULL;

void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, unsigned flags);
void mp_raise_ValueError(const char *text);
mp_obj_t mp_obj_new_int(intptr_t value);
mp_obj_t mp_obj_new_tuple(size_t count, const mp_obj_t *items);
void mp_store_global(const char *name, mp_obj_t object);
mp_obj_t mpy_init(mp_obj_fun_bc_t *self, size_t n_args, size_t n_kw, mp_obj_t *args);

#endif
