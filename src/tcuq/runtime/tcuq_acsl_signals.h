/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the tables of signals and score are, and what their stages ask,
 * change and leave. */
#ifndef TCUQ_ACSL_SIGNALS_H
#define TCUQ_ACSL_SIGNALS_H

/* More of C's shifts; proof/widths.py proves each over all 32 bits. */
/*@ axiomatic tcuq_more_shifts {
      axiom left_32: \forall integer x; x << 32 == 4294967296 * x;
      axiom right_2: \forall integer x; 4 * (x >> 2) <= x < 4 * (x >> 2) + 4;
      axiom right_5: \forall integer x; 32 * (x >> 5) <= x < 32 * (x >> 5) + 32;
      axiom right_8: \forall integer x; 256 * (x >> 8) <= x < 256 * (x >> 8) + 256;
      axiom right_12: \forall integer x; 4096 * (x >> 12) <= x < 4096 * (x >> 12) + 4096;
      axiom right_17: \forall integer x; 131072 * (x >> 17) <= x < 131072 * (x >> 17) + 131072;
      axiom right_positive: \forall integer x, k; 0 <= x && 0 <= k <= 31 ==> 0 <= (x >> k) <= x;
      axiom right_negative: \forall integer x, k; x < 0 && 0 <= k <= 31 ==> x <= (x >> k) <= -1;
      axiom right_from_4: \forall int32_t x; \forall integer k; 4 <= k <= 31 ==>
        -0x8000000 <= (x >> k) < 0x8000000;
    } */

/*@ requires 1 <= classes <= TCUQ_MAX_CLASSES && \valid_read(posterior + (0 .. classes - 1)) && \valid(read);
    assigns *read;
    ensures read->label < classes && read->second <= read->first <= read->sum <= 255 * classes; */
void tcuq_read_posterior(const uint8_t *posterior, uint32_t classes, tcuq_posterior *read);

/*@ requires classes <= TCUQ_MAX_CLASSES && \valid_read(now + (0 .. classes - 1));
    requires \valid_read(past + (0 .. classes - 1));
    assigns \nothing;
    ensures \result <= 262140 * classes; */
uint32_t tcuq_mixture_q17(const uint8_t *now, const uint8_t *past, uint32_t classes);

#endif
