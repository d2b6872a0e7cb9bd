/* SPDX-License-Identifier: Apache-2.0 */
/* Copies bytes, without the C library. */
#ifndef TCUQ_COPY_H
#define TCUQ_COPY_H

#include <stdint.h>

/*@ requires \valid(to + (0 .. size - 1)) && \valid_read(from + (0 .. size - 1));
    requires to == from || \separated(to + (0 .. size - 1), from + (0 .. size - 1));
    assigns to[0 .. size - 1]; */
static inline void tcuq_copy_bytes(uint8_t *to, const uint8_t *from, uint32_t size)
{
    /*@ loop invariant i <= size;
        loop assigns i, to[0 .. size - 1];
        loop variant size - i; */
    for (uint32_t i = 0u; i < size; i++) {
        to[i] = from[i];
    }
}

#endif
