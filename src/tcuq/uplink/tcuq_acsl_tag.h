/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what a tag is, and bits that are compared. Read by Frama-C, never by a
 * compiler. */
#ifndef TCUQ_ACSL_TAG_H
#define TCUQ_ACSL_TAG_H

#include <stdint.h>

/* C's bits, which WP knows no numbers of. tools/proof/widths.py proves each over all 32 bits. */
/*@ axiomatic tcuq_tag_bits {
      axiom xor_zero: \forall uint32_t x, y; (x ^ y) == 0 <==> x == y;
      axiom xor_byte: \forall uint32_t x, y; x <= 255 && y <= 255 ==> 0 <= (x ^ y) <= 255;
      axiom or_zero: \forall uint32_t x, y; (x | y) == 0 <==> x == 0 && y == 0;
      axiom or_byte: \forall uint32_t x, y; x <= 255 && y <= 255 ==> 0 <= (x | y) <= 255;
    } */

/*@ predicate tcuq_same_tag{L}(uint8_t *tag, uint8_t *other) =
      \forall integer k; 0 <= k < 12 ==> tag[k] == other[k]; */

/* Byte k of the tag that a key makes of bytes. */
/*@ axiomatic tcuq_true_tags {
      logic integer tcuq_true_tag{L}(void *context, uint8_t *bytes, integer size, integer k)
        reads bytes[0 .. size - 1];
    } */

/* Stands for the caller's function. */
/*@ requires \valid_read(bytes + (0 .. size - 1)) && \valid(tag + (0 .. 11));
    requires \separated(bytes + (0 .. size - 1), tag + (0 .. 11));
    assigns tag[0 .. 11];
    ensures \forall integer k; 0 <= k < 12 ==> tag[k] == tcuq_true_tag(context, bytes, size, k); */
void tcuq_any_mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag);

#endif
