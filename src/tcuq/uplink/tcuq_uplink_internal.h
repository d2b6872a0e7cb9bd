/* SPDX-License-Identifier: Apache-2.0 */
/* What the uplink's files share. */
#ifndef TCUQ_UPLINK_INTERNAL_H
#define TCUQ_UPLINK_INTERNAL_H

#include "tcuq_uplink.h"

static inline void tcuq_copy_bytes(uint8_t *to, const uint8_t *from, uint32_t size)
{
    for (uint32_t i = 0u; i < size; i++) {
        to[i] = from[i];
    }
}

#endif
