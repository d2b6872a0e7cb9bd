/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what bits are where a number is made not to be 0. Apart, since every axiom
 * costs every goal that sees it. */
#ifndef TCUQ_ACSL_BITS_H
#define TCUQ_ACSL_BITS_H

/*@ axiomatic tcuq_bits {
      axiom or_1: \forall uint32_t x; 1 <= (x | 1) && x <= (x | 1) <= 0xFFFFFFFF;
      axiom left_ascends: \forall uint32_t x, y; \forall integer k; 0 <= k <= 31 && x <= y ==> (x << k) <= (y << k);
      axiom join_4: \forall uint32_t x, j; x <= 4095 && j <= 15 ==> ((x << 4) | j) <= 65535;
      axiom joined_4: \forall uint32_t x, j; x <= 4095 && j <= 15 ==> (((x << 4) | j) & 15) == j;
      axiom beyond_4: \forall uint32_t x; 1 <= ((x >> 4) & 15) ==> 16 <= x;
      axiom next_14: \forall uint32_t x; x <= 0xBFFF && (x & 0x3FFF) <= 0x3FFE ==>
        ((x + 1) & 0x3FFF) == (x & 0x3FFF) + 1 && x + 1 <= 0xBFFF;
    } */

#endif
