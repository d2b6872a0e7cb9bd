/* SPDX-License-Identifier: Apache-2.0 */
/* The calls a compiler may make of any C, freestanding or not; linked only if it does. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int value, size_t size);

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *
memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *bytes = to;
    const uint8_t *source = from;
    for (size_t i = 0u; i < size; i++) {
        bytes[i] = source[i];
    }
    return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memset(void *to, int value,
                                                                           size_t size)
{
    uint8_t *bytes = to;
    for (size_t i = 0u; i < size; i++) {
        bytes[i] = (uint8_t)value;
    }
    return to;
}
