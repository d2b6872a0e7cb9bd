/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the tables of signals and score are, and what their stages ask,
 * change and leave. */
#ifndef TCUQ_ACSL_SIGNALS_H
#define TCUQ_ACSL_SIGNALS_H

/* More of C's shifts; tools/proof/widths.py proves each over all 32 bits. */
/*@ axiomatic tcuq_more_shifts {
      axiom left_0: \forall integer x; x << 0 == x;
      axiom left_less_2: \forall integer x, k; 2 <= k ==> (x << k) == 4 * (x << (k - 2));
      axiom left_less_3: \forall integer x, k; 3 <= k ==> (x << k) == 8 * (x << (k - 3));
      axiom left_32: \forall integer x; x << 32 == 4294967296 * x;
      axiom right_2: \forall integer x; 4 * (x >> 2) <= x < 4 * (x >> 2) + 4;
      axiom right_5: \forall integer x; 32 * (x >> 5) <= x < 32 * (x >> 5) + 32;
      axiom right_8: \forall integer x; 256 * (x >> 8) <= x < 256 * (x >> 8) + 256;
      axiom right_12: \forall integer x; 4096 * (x >> 12) <= x < 4096 * (x >> 12) + 4096;
      axiom right_17: \forall integer x; 131072 * (x >> 17) <= x < 131072 * (x >> 17) + 131072;
      axiom last_bit: \forall integer x; x == 2 * (x >> 1) + (x & 1);
      axiom right_positive: \forall integer x, k; 0 <= x && 0 <= k <= 31 ==> 0 <= (x >> k) <= x;
      axiom right_negative: \forall integer x, k; x < 0 && 0 <= k <= 31 ==> x <= (x >> k) <= -1;
      axiom right_from_4: \forall int32_t x; \forall integer k; 4 <= k <= 31 ==>
        -0x8000000 <= (x >> k) < 0x8000000;
    } */

/* Products with a name, so that their bounds are found by it. */
/*@ axiomatic tcuq_products {
      lemma cells_bytes: \forall integer x, y; -128 <= x <= 127 && -128 <= y <= 127 ==>
        -16384 <= tcuq_cells(x, y) <= 16384;
      lemma cells_square: \forall integer x; 0 <= tcuq_cells(x, x);
      lemma cells_reciprocal: \forall integer x, y; -65536 <= x <= 65535 && 0 <= y <= 32768 ==>
        -0x80000000 <= tcuq_cells(x, y) <= 0x7FFFFFFF;
      lemma cells_apart: \forall integer x, y; 0 <= x <= 65535 && 0 <= y <= 4096 ==>
        0 <= tcuq_cells(x, y) <= 0xFFFF000;
      lemma cells_mixed: \forall integer x, y, z; 0 <= x <= 32768 && 0 <= y <= 32768 && 0 <= z <= 32768 ==>
        0 <= tcuq_cells(x, y) && 0 <= tcuq_cells(32768 - x, z) &&
        tcuq_cells(x, y) + tcuq_cells(32768 - x, z) <= 0x40000000;
      lemma cells_portion: \forall integer x, y, m; 0 <= x <= y && 0 < y && 0 <= m ==>
        0 <= tcuq_cells(x, m / y) <= m;
      lemma cells_13_bits: \forall integer x, y; -4096 <= x <= 4095 && -4096 <= y <= 4095 ==>
        -0x1000000 <= tcuq_cells(x, y) <= 0x1000000;
    } */

/*@ predicate tcuq_one_ok(tcuq_posterior *read) =
      read->one_q32 == (read->sum == 0 ? 0 : UINT32_MAX / read->sum); */

/*@ requires 1 <= classes <= TCUQ_MAX_CLASSES && \valid_read(posterior + (0 .. classes - 1)) && \valid(read);
    assigns *read;
    ensures read->label < classes && read->second <= read->first <= read->sum <= 255 * classes;
    ensures tcuq_one_ok(read) && read->second_label < classes && read->zeros <= classes;
    ensures read->second != 0 ==> read->second_label != read->label; */
void tcuq_read_posterior(const uint8_t *posterior, uint32_t classes, tcuq_posterior *read);

/*@ requires classes <= TCUQ_MAX_CLASSES && \valid_read(now + (0 .. classes - 1));
    requires \valid_read(past + (0 .. classes - 1));
    assigns \nothing;
    ensures \result <= 262140 * classes; */
uint32_t tcuq_mixture_q17(const uint8_t *now, const uint8_t *past, uint32_t classes);

/* The projection: what tcuq_features_sound checks, row by row. */
/*@ predicate tcuq_shape_ok(tcuq_profile *p) =
      1 <= p->dimensions <= TCUQ_MAX_DIMENSIONS && 1 <= p->width && p->projection_bias != \null &&
      p->projection_shift <= 30;

    predicate tcuq_biases_ok(tcuq_profile *p, integer rows) =
      \forall integer r; 0 <= r < rows ==> -0x20000000 <= p->projection_bias[r] <= 0x20000000;

    predicate tcuq_selected_ok(tcuq_profile *p, integer count) =
      \forall integer i; 0 <= i < count ==> p->selection[i] < p->width;

    predicate tcuq_features_ok(tcuq_profile *p) =
      p->dimensions <= TCUQ_MAX_DIMENSIONS && (p->width == 0 <==> p->dimensions == 0) &&
      (p->projection == \null && p->selection == \null ==> p->width == p->dimensions) &&
      (p->selection != \null ==> p->projection == \null && tcuq_selected_ok(p, p->dimensions)) &&
      (p->projection != \null ==> tcuq_shape_ok(p) && tcuq_biases_ok(p, p->dimensions));

    predicate tcuq_projection_given(tcuq_profile *p) =
      \valid_read(p) && (p->selection != \null ==> \valid_read(p->selection + (0 .. p->dimensions - 1))) &&
      (p->projection != \null ==>
        \valid_read(p->projection + (0 .. tcuq_cells(p->dimensions, p->width) - 1)) &&
        (p->projection_bias != \null ==> \valid_read(p->projection_bias + (0 .. p->dimensions - 1)))); */

/*@ requires tcuq_projection_given(profile);
    assigns \nothing;
    ensures \result ==> tcuq_features_ok(profile); */
bool tcuq_features_sound(const tcuq_profile *profile);

/*@ requires tcuq_projection_given(profile) && tcuq_features_ok(profile) && profile->projection != \null;
    requires \valid_read(wide + (0 .. profile->width - 1)) && \valid(old + (0 .. profile->dimensions - 1));
    requires \separated(old + (0 .. profile->dimensions - 1), profile);
    requires \separated(old + (0 .. profile->dimensions - 1), wide + (0 .. profile->width - 1));
    requires \separated(old + (0 .. profile->dimensions - 1),
      profile->projection + (0 .. tcuq_cells(profile->dimensions, profile->width) - 1));
    requires \separated(old + (0 .. profile->dimensions - 1), profile->projection_bias + (0 .. profile->dimensions - 1));
    assigns old[0 .. profile->dimensions - 1]; */
int32_t tcuq_project(const tcuq_profile *profile, const int8_t *wide, int8_t *old);

/*@ requires count <= TCUQ_MAX_DIMENSIONS && \valid_read(features + (0 .. count - 1)) && \valid(old + (0 .. count - 1));
    requires \separated(old + (0 .. count - 1), features + (0 .. count - 1));
    assigns old[0 .. count - 1];
    ensures 0 <= \result.square <= 0x80000 && -0x80000 <= \result.product <= 0x80000; */
tcuq_replaced tcuq_replace(const int8_t *features, uint32_t count, int8_t *old);

/*@ requires count <= TCUQ_MAX_DIMENSIONS && \valid(old + (0 .. count - 1));
    requires \valid_read(selection + (0 .. count - 1)) && \separated(old + (0 .. count - 1), selection + (0 .. count - 1));
    requires \forall integer i; 0 <= i < count ==> \valid_read(features + selection[i]);
    requires \forall integer i; 0 <= i < count ==> \separated(old + (0 .. count - 1), features + selection[i]);
    assigns old[0 .. count - 1];
    ensures 0 <= \result.square <= 0x80000 && -0x80000 <= \result.product <= 0x80000; */
tcuq_replaced tcuq_replace_selected(const int8_t *features, const uint8_t *selection, uint32_t count, int8_t *old);

/*@ requires count <= TCUQ_MAX_DIMENSIONS && \valid_read(left + (0 .. count - 1));
    requires \valid_read(right + (0 .. count - 1));
    assigns \nothing;
    ensures -0x80000 <= \result <= 0x80000;
    ensures left == right ==> 0 <= \result; */
int32_t tcuq_dot(const int8_t *left, const int8_t *right, uint32_t count);

/* A slot's length: of a vector of zeros, or normalised. */
/*@ predicate tcuq_slot_ok(tcuq_slot *s) =
      (s->reciprocal_q14 == 0 || 16384 <= s->reciprocal_q14 <= 32768) && s->exponent <= 14; */

/*@ requires 0 <= square <= 0x80000 && \valid(slot);
    assigns slot->reciprocal_q14, slot->exponent;
    ensures tcuq_slot_ok(slot); */
void tcuq_length(int32_t square, tcuq_slot *slot);

/*@ requires value > 0;
    assigns \nothing;
    ensures \result <= 31 && 0x80000000 <= (value << \result) <= UINT32_MAX; */
uint32_t tcuq_leading_zeros(uint32_t value);

#endif
