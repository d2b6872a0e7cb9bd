/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the score's tables are, and what it asks, changes and leaves. */
#ifndef TCUQ_ACSL_SCORE_H
#define TCUQ_ACSL_SCORE_H

/*@ axiomatic tcuq_monotone {
      lemma times_most: \forall integer m, x, t; 0 <= m && 0 <= x <= t ==> 0 <= m * x <= m * t;
      lemma both_most: \forall integer x, y, s, t; 0 <= x <= s && 0 <= y <= t ==> 0 <= x * y <= s * t;
    } */

/*@ predicate tcuq_bias_ok(tcuq_profile *p) =
      -0x20000000 <= p->bias_q16 <= 0x20000000 && -0x20000000 <= p->error_bias_q16 <= 0x20000000;

    predicate tcuq_weights_ok(tcuq_profile *p) =
      p->mix_q15 <= 32768 && 5 <= p->weight_shift <= 16 && tcuq_bias_ok(p);

    predicate tcuq_term_fields_ok(tcuq_term *t) =
      t->signal < TCUQ_SIGNALS && 1 <= t->point_count <= TCUQ_MAX_POINTS && t->points != \null &&
      t->bits_q10 != \null && t->ewma <= 10 && t->cap_q10 <= 16384 && t->weight_q8 <= 16384 && t->error_q8 <= 16384 &&
      t->novelty_q8 <= 256 && t->start_q10 <= TCUQ_MAX_BITS_Q10;

    predicate tcuq_ascending(tcuq_term *t, integer n) =
      \forall integer i, j; 0 <= i < j < n ==> t->points[i] < t->points[j] && t->bits_q10[i] <= t->bits_q10[j];

    predicate tcuq_term_ok(tcuq_term *t) = tcuq_term_fields_ok(t) && tcuq_ascending(t, t->point_count);

    predicate tcuq_terms_ok(tcuq_profile *p, integer n) =
      \forall integer i; 0 <= i < n ==> tcuq_term_ok(p->terms + i);

    predicate tcuq_score_ok(tcuq_profile *p) =
      p->term_count <= TCUQ_MAX_TERMS && tcuq_bias_ok(p) && (p->terms == \null ==> p->term_count == 0 && p->weight_shift != 0) &&
      (p->weight_shift != 0 ==> tcuq_weights_ok(p)) &&
      tcuq_terms_ok(p, p->term_count); */

/* A table that lies in another object than the state. */
#define TCUQ_OTHER_OBJECT(table) \
    \base_addr(table) != \base_addr(m->core) && \base_addr(table) != \base_addr(m->slots) && \
    \base_addr(table) != \base_addr(m->posteriors) && \base_addr(table) != \base_addr(m->smoothed_q8) && \
    \base_addr(table) != \base_addr(m->channels) && \base_addr(table) != \base_addr(m->telemetry)

/* Tables are where their pointers say; a table that is not given has no entries. */
/*@ predicate tcuq_term_given(tcuq_term *t) =
      (t->points != \null ==> \valid_read(t->points + (0 .. t->point_count - 1))) &&
      (t->bits_q10 != \null ==> \valid_read(t->bits_q10 + (0 .. t->point_count - 1)));

    predicate tcuq_tables_given(tcuq_profile *p) =
      \valid_read(p) && (p->terms != \null ==> \valid_read(p->terms + (0 .. p->term_count - 1)) &&
        \forall integer i; 0 <= i < p->term_count ==> tcuq_term_given(p->terms + i));

    predicate tcuq_terms_given(tcuq_monitor *m) =
      \valid_read(m) && tcuq_tables_given(m->profile) && m->profile->terms != \null &&
      \valid(m->smoothed_q8 + (0 .. tcuq_smoothed(m) - 1)) &&
      (m->smoothed_q8 == \null ==> \forall integer i; 0 <= i < m->profile->term_count ==> m->profile->terms[i].ewma == 0) &&
      \separated(m->smoothed_q8 + (0 .. tcuq_smoothed(m) - 1), m, m->profile) &&
      \forall integer i; 0 <= i < m->profile->term_count ==> TCUQ_OTHER_OBJECT(m->profile->terms + i) &&
        TCUQ_OTHER_OBJECT(m->profile->terms[i].points) && TCUQ_OTHER_OBJECT(m->profile->terms[i].bits_q10); */

/*@ predicate tcuq_tables_ready(tcuq_monitor *m) =
      tcuq_terms_given(m) && tcuq_terms_ok(m->profile, m->profile->term_count); */

/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures \result ==> signal < TCUQ_SIGNALS; */
bool tcuq_signal_given(const tcuq_profile *profile, uint8_t signal);

/*@ requires tcuq_tables_given(profile);
    assigns \nothing;
    ensures \result ==> tcuq_score_ok(profile); */
bool tcuq_score_sound(const tcuq_profile *profile);

/*@ requires tcuq_tables_given(profile) && (profile->terms == \null ==> profile->term_count == 0);
    assigns \nothing;
    ensures !\result ==> \forall integer i; 0 <= i < profile->term_count ==> profile->terms[i].ewma == 0; */
bool tcuq_score_smooths(const tcuq_profile *profile);

/*@ requires tcuq_core_given(monitor) && \valid_read(signals) && \valid(decision);
    requires tcuq_score_ok(monitor->profile) && signals->confidence_q16 <= 65536;
    requires monitor->profile->terms != \null ==> tcuq_terms_given(monitor);
    requires \separated(signals, TCUQ_SMOOTHED) && tcuq_smoothed_ok(monitor) && tcuq_recent_ok(monitor);
    requires \separated(monitor->core, signals, TCUQ_SMOOTHED);
    requires \separated(decision, signals, monitor->core, TCUQ_SMOOTHED, TCUQ_PROFILE);
    assigns *TCUQ_SMOOTHED, monitor->core->recent_q18, decision->novelty_q10, decision->risk,
      decision->expected_error;
    ensures tcuq_smoothed_ok(monitor) && tcuq_recent_ok(monitor);
    ensures decision->risk <= TCUQ_RISK_LEVELS && decision->expected_error <= TCUQ_RISK_LEVELS; */
void tcuq_score_run(const tcuq_monitor *monitor, const tcuq_signals *signals, tcuq_decision *decision);

/*@ requires tcuq_core_given(monitor) && monitor->profile->term_count <= TCUQ_MAX_TERMS;
    requires monitor->profile->term_count != 0 ==> tcuq_tables_ready(monitor);
    requires \separated(monitor->core, TCUQ_SMOOTHED);
    assigns *TCUQ_SMOOTHED, monitor->core->recent_q18;
    ensures tcuq_smoothed_ok(monitor) && tcuq_recent_ok(monitor); */
void tcuq_score_reset(const tcuq_monitor *monitor);

#endif
