/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: what authenticates records, acknowledgements, profiles and the switch between them. */
#ifndef TCUQ_TAG_H
#define TCUQ_TAG_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __FRAMAC__
#include "tcuq_acsl_tag.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_TAG_BYTES 12u

/* Writes the first TCUQ_TAG_BYTES of HMAC-SHA-256(the device's key, bytes). */
typedef void (*tcuq_mac)(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag);

/* Whether two tags of TCUQ_TAG_BYTES are equal. Every byte is compared wherever they differ, so that the time it
 * takes says nothing about a tag. */
static inline bool tcuq_tags_equal(const uint8_t *tag, const uint8_t *other)
{
    uint32_t wrong = 0u;
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        wrong |= (uint32_t)tag[i] ^ other[i];
    }
    return wrong == 0u;
}

#ifdef __cplusplus
}
#endif

#endif
