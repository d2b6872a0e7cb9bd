/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what novelty's tables are, and what it asks, changes and leaves. */
#ifndef TCUQ_ACSL_NOVELTY_H
#define TCUQ_ACSL_NOVELTY_H

/* Quads of weights before a group of four rows: 4 · (1 + ... + group). */
/*@ logic integer tcuq_triangle(integer group) = 2 * tcuq_cells(group, group + 1);

    logic integer tcuq_quads_of(tcuq_profile *p) = (p->dimensions + 3) / 4;
    logic integer tcuq_mean_cells(tcuq_profile *p) = tcuq_cells(p->mean_count, 4 * tcuq_quads_of(p)); */

/*@ axiomatic tcuq_novelty_products {
      lemma triangle_next: \forall integer g; tcuq_triangle(g + 1) == tcuq_triangle(g) + 4 * (g + 1);
      lemma triangle_within: \forall integer g, n; 0 <= g < n ==>
        0 <= tcuq_triangle(g) && tcuq_triangle(g) + 4 * (g + 1) <= tcuq_triangle(n);
      lemma cells_next: \forall integer k, w; tcuq_cells(k + 1, w) == tcuq_cells(k, w) + w;
      lemma cells_13: \forall integer x, y; -4096 <= x <= 4095 && -4096 <= y <= 4095 ==>
        -16773120 <= tcuq_cells(x, y) <= 16777216;
      lemma cells_16: \forall integer x; -32768 <= x <= 32767 ==> 0 <= tcuq_cells(x, x) <= 0x40000000;
    } */

/*@ predicate tcuq_13_bits(int16_t *x, integer n) = \forall integer i; 0 <= i < n ==> -4096 <= x[i] <= 4095;

    predicate tcuq_fits_13_bits(integer a) = -4096 <= a <= 4095;
    predicate tcuq_fits_13(integer a, integer b) = -16773120 <= tcuq_cells(a, b) <= 16777216;

    predicate tcuq_whitening_ok(tcuq_profile *p) =
      1 <= p->dimensions <= TCUQ_MAX_DIMENSIONS && p->whitening_shift != \null && p->means != \null &&
      p->mean_squares != \null && 1 <= p->mean_count && p->mean_count == 2 * (p->mean_count >> 1) && p->novelty_exponent <= 24;

    predicate tcuq_shifts_ok(tcuq_profile *p, integer rows) =
      \forall integer i; 0 <= i < rows ==> p->whitening_shift[i] <= 30;

    predicate tcuq_means_ok(tcuq_profile *p, integer count) =
      \forall integer k; 0 <= k < count ==> 0 <= p->mean_squares[k] <= 0x20000000 &&
        tcuq_13_bits(p->means + tcuq_cells(k, 4 * tcuq_quads_of(p)), 4 * tcuq_quads_of(p));

    predicate tcuq_novelty_ok(tcuq_profile *p) =
      p->whitening != \null ==> tcuq_whitening_ok(p) && tcuq_shifts_ok(p, 4 * tcuq_quads_of(p)) &&
        tcuq_means_ok(p, p->mean_count);

    predicate tcuq_novelty_given(tcuq_profile *p) =
      \valid_read(p) && (p->whitening != \null ==>
        \valid_read(p->whitening + (0 .. tcuq_triangle(tcuq_quads_of(p)) - 1)) &&
        (p->whitening_shift != \null ==> \valid_read(p->whitening_shift + (0 .. 4 * tcuq_quads_of(p) - 1))) &&
        (p->means != \null ==> \valid_read(p->means + (0 .. tcuq_mean_cells(p) - 1))) &&
        (p->mean_squares != \null ==> \valid_read(p->mean_squares + (0 .. p->mean_count - 1))));

    predicate tcuq_novelty_kept{A, B}(tcuq_profile *p) =
      \at(p->whitening, A) == \at(p->whitening, B) && \at(p->whitening_shift, A) == \at(p->whitening_shift, B) &&
      \at(p->means, A) == \at(p->means, B) && \at(p->mean_squares, A) == \at(p->mean_squares, B) &&
      \at(p->mean_count, A) == \at(p->mean_count, B) && \at(p->novelty_exponent, A) == \at(p->novelty_exponent, B);

    predicate tcuq_rows_within(tcuq_profile *p) = \forall integer k; 0 <= k < p->mean_count ==>
      0 <= tcuq_cells(k, 4 * tcuq_quads_of(p)) &&
      tcuq_cells(k, 4 * tcuq_quads_of(p)) + 4 * tcuq_quads_of(p) <= tcuq_mean_cells(p);
    predicate tcuq_tables_kept{A, B}(tcuq_profile *p) =
      (\forall integer i; 0 <= i < \at(4 * tcuq_quads_of(p), A) ==>
        \at(p->whitening_shift[i], A) == \at(p->whitening_shift[i], B)) &&
      (\forall integer i; 0 <= i < \at(p->mean_count, A) ==> \at(p->mean_squares[i], A) == \at(p->mean_squares[i], B));
    predicate tcuq_means_kept{A, B}(tcuq_profile *p) =
      \forall integer k, i; 0 <= k < \at(p->mean_count, A) && 0 <= i < \at(4 * tcuq_quads_of(p), A) ==>
        \at((p->means + tcuq_cells(k, 4 * tcuq_quads_of(p)))[i], A) ==
          \at((p->means + tcuq_cells(k, 4 * tcuq_quads_of(p)))[i], B); */

/*@ requires tcuq_novelty_given(profile) && profile->dimensions <= TCUQ_MAX_DIMENSIONS;
    assigns \nothing;
    ensures \result ==> tcuq_novelty_ok(profile); */
bool tcuq_novelty_sound(const tcuq_profile *profile);

/*@ requires tcuq_novelty_given(profile) && tcuq_novelty_ok(profile) && profile->whitening != \null;
    requires \valid_read(features + (0 .. profile->dimensions - 1));
    assigns \nothing; */
int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features);

#endif
