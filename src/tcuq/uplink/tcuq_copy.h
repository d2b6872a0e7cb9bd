/* SPDX-License-Identifier: Apache-2.0 */
/* Copies bytes, without the C library. */
#ifndef TCUQ_COPY_H
#define TCUQ_COPY_H

#include <stdint.h>

static inline void tcuq_copy_bytes(uint8_t *to, const uint8_t *from, uint32_t size)
{
    for (uint32_t i = 0u; i < size; i++) {
        to[i] = from[i];
    }
}

#endif
