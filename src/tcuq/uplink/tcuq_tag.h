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
/*@ requires \valid_read(tag + (0 .. 11)) && \valid_read(other + (0 .. 11));
    assigns \nothing;
    ensures \result <==> tcuq_same_tag(tag, other); */
static inline bool tcuq_tags_equal(const uint8_t *tag, const uint8_t *other)
{
    uint32_t wrong = 0u;
    /*@ breaks \false;
        returns \false; */ /* no way out of the loop before the last byte */
    /*@ loop invariant i <= TCUQ_TAG_BYTES && wrong <= 255;
        loop invariant (wrong == 0) <==> \forall integer k; 0 <= k < i ==> tag[k] == other[k];
        loop assigns i, wrong;
        loop variant TCUQ_TAG_BYTES - i; */
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        const uint32_t difference = (uint32_t)tag[i] ^ other[i];
        //@ assert difference <= 255 && (difference == 0 <==> tag[i] == other[i]);
        //@ assert ((wrong | difference) == 0) <==> (wrong == 0 && difference == 0);
        wrong |= difference;
    }
    return wrong == 0u;
}

#ifdef __cplusplus
}
#endif

#endif
