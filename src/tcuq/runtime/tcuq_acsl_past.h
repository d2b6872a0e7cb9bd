/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the ring of past steps is, and what the signals ask, change and
 * leave. A slot's age is 1 for the step before, the ring's size for the one that is overwritten next. */
#ifndef TCUQ_ACSL_PAST_H
#define TCUQ_ACSL_PAST_H

/*@ logic integer tcuq_age(integer at, integer next, integer size) = at < next ? next - at : next + size - at;

    predicate tcuq_slots_ok(tcuq_monitor *m) =
      \forall integer at; 0 <= at < tcuq_slots(m->profile) &&
        tcuq_age(at, m->core->next, tcuq_slots(m->profile)) <= m->core->filled ==> tcuq_slot_ok(m->slots + at);

    predicate tcuq_lags_ascend(tcuq_profile *p, integer count) =
      (\forall integer i; 0 <= i < count ==> 1 <= p->lags[i]) &&
      (\forall integer i, j; 0 <= i < j < count ==> p->lags[i] < p->lags[j]);

    predicate tcuq_signals_ok(tcuq_profile *p) =
      2 <= p->classes <= TCUQ_MAX_CLASSES && p->blend_q15 <= 32768 && tcuq_features_ok(p) &&
      p->stay_q8 <= 25600 && p->rest_q8 <= 768 && 1 <= p->change_q8 <= 256 &&
      1 <= p->lag_count <= TCUQ_MAX_LAGS && tcuq_lags_ascend(p, p->lag_count);

    predicate tcuq_lags_given(tcuq_profile *p) =
      p->lag_weights_q15 != \null ==>
        \valid_read(p->lag_weights_q15 + (0 .. tcuq_cells(p->lag_count, p->lag_count + 1) / 2 - 1));

    predicate tcuq_found(tcuq_monitor *m, tcuq_past *past, integer n) =
      \forall integer i; 0 <= i < n ==> past->slots[i] < tcuq_slots(m->profile) &&
        tcuq_age(past->slots[i], m->core->next, tcuq_slots(m->profile)) <= m->core->filled; */

/* What the signals read and write. */
/*@ predicate tcuq_ring_of(tcuq_monitor *m, integer slots, integer posteriors, integer features) =
      \valid_read(m) && \valid_read(m->profile) && \valid(m->core) && \valid(m->slots + (0 .. slots - 1)) &&
      \valid(m->posteriors + (0 .. posteriors - 1)) && \valid(m->features + (0 .. features - 1)) &&
      \separated(m, m->profile, m->core, m->slots + (0 .. slots - 1), m->posteriors + (0 .. posteriors - 1),
        m->features + (0 .. features - 1));

    predicate tcuq_ring_given(tcuq_monitor *m) =
      tcuq_ring_of(m, tcuq_slots(m->profile), tcuq_cells(tcuq_slots(m->profile), m->profile->classes),
        tcuq_cells(tcuq_slots(m->profile), m->profile->dimensions)); */

#define TCUQ_PAST_OF monitor, monitor->profile, monitor->core, TCUQ_SLOTS, TCUQ_POSTERIORS, TCUQ_FEATURES
#define TCUQ_LAG_WEIGHTS \
    (monitor->profile->lag_weights_q15 + \
     (0 .. tcuq_cells(monitor->profile->lag_count, monitor->profile->lag_count + 1) / 2 - 1))
#define TCUQ_PROJECTION \
    (monitor->profile->projection + (0 .. tcuq_cells(monitor->profile->dimensions, monitor->profile->width) - 1))
#define TCUQ_BIASES (monitor->profile->projection_bias + (0 .. monitor->profile->dimensions - 1))
#define TCUQ_SELECTION (monitor->profile->selection + (0 .. monitor->profile->dimensions - 1))
#define TCUQ_ROW_WITHIN(at, width) \
    tcuq_cells(at, width) + width <= tcuq_cells(tcuq_slots(profile), width) <= 255000

#define TCUQ_KEPT_CLASSES monitor->core->kept[0 .. 1], monitor->core->held_q15[0 .. 1]

/*@ requires \valid_read(monitor) && \valid_read(monitor->profile) && \valid(monitor->core) && \valid_read(read);
    requires \valid_read(posterior + (0 .. monitor->profile->classes - 1));
    requires \separated(monitor->core, monitor, monitor->profile, read);
    requires \separated(monitor->core, posterior + (0 .. monitor->profile->classes - 1));
    requires 2 <= monitor->profile->classes <= TCUQ_MAX_CLASSES && tcuq_kept_ok(monitor);
    requires monitor->profile->stay_q8 <= 25600 && monitor->profile->rest_q8 <= 768;
    requires 1 <= monitor->profile->change_q8 <= 256;
    requires read->label < monitor->profile->classes && read->zeros <= monitor->profile->classes;
    requires read->second != 0 ==> read->second_label < monitor->profile->classes && read->second_label != read->label;
    requires read->second <= read->first <= read->sum && tcuq_one_ok(read);
    assigns TCUQ_KEPT_CLASSES;
    ensures tcuq_kept_ok(monitor); */
int16_t tcuq_contradiction(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_posterior *read);

/* What tcuq_share_q15 holds. */
#define TCUQ_SHARES(k, share) \
    (k == 0 ==> share == 0) && (k == 1 ==> share == 32768) && (k == 2 ==> share == 16384) && \
    (k == 3 ==> share == 10922) && (k == 4 ==> share == 8192) && (k == 5 ==> share == 6553) && \
    (k == 6 ==> share == 5461) && (k == 7 ==> share == 4681) && (k == 8 ==> share == 4096)

/*@ requires \valid_read(profile) && 1 <= profile->lag_count <= TCUQ_MAX_LAGS;
    assigns \nothing;
    ensures \result == tcuq_slots(profile); */
static inline uint8_t tcuq_ring_size(const tcuq_profile *profile);

/*@ requires \valid_read(monitor) && \valid_read(monitor->profile) && \valid_read(monitor->core) && \valid(past);
    requires \separated(past, monitor, monitor->profile, monitor->core);
    requires tcuq_signals_ok(monitor->profile) && tcuq_ring_ok(monitor);
    assigns *past;
    ensures past->count <= monitor->profile->lag_count && tcuq_found(monitor, past, past->count); */
static void tcuq_find_past(const tcuq_monitor *monitor, tcuq_past *past);

/*@ requires \valid_read(monitor) && \valid_read(monitor->profile) && at <= 254;
    requires monitor->profile->dimensions <= TCUQ_MAX_DIMENSIONS;
    assigns \nothing;
    ensures monitor->profile->dimensions == 0 ==> \result == \null;
    ensures monitor->profile->dimensions != 0 ==>
      \result == monitor->features + tcuq_cells(at, monitor->profile->dimensions); */
static inline int8_t *tcuq_features_at(const tcuq_monitor *monitor, uint32_t at);

/*@ requires \valid_read(now) && \valid_read(past) && tcuq_slot_ok(now) && tcuq_slot_ok(past);
    assigns \nothing;
    ensures -32768 <= \result <= 32767; */
static int32_t tcuq_projection_on(const tcuq_slot *now, const tcuq_slot *past, int32_t product);

/*@ requires tcuq_ring_given(monitor) && tcuq_signals_ok(monitor->profile) && tcuq_ring_ok(monitor);
    requires tcuq_projection_given(monitor->profile) && \valid_read(past) && \valid(products + (0 .. 7));
    requires past->count <= TCUQ_MAX_LAGS && tcuq_found(monitor, past, past->count);
    requires monitor->profile->dimensions != 0 ==>
      row == monitor->features + tcuq_cells(monitor->core->next, monitor->profile->dimensions);
    requires \valid_read(features + (0 .. monitor->profile->width - 1));
    requires \separated(features + (0 .. monitor->profile->width - 1), TCUQ_FEATURES);
    requires \separated(products + (0 .. 7), past, TCUQ_PAST_OF) && \separated(past, TCUQ_FEATURES);
    requires \valid_read(signals) && \separated(signals, TCUQ_FEATURES) && \separated(signals, products + (0 .. 7));
    requires monitor->profile->projection != \null ==> \separated(TCUQ_PROJECTION, TCUQ_FEATURES);
    requires monitor->profile->selection != \null ==> \separated(TCUQ_SELECTION, TCUQ_FEATURES);
    requires monitor->profile->projection != \null ==> \separated(TCUQ_BIASES, TCUQ_FEATURES);
    assigns *TCUQ_FEATURES, products[0 .. 7];
    ensures 0 <= \result <= 0x80000; */
static int32_t tcuq_take_features(const tcuq_monitor *monitor, const int8_t *features, int8_t *row,
                                  const tcuq_past *past, const tcuq_signals *signals, int32_t *products);

/*@ requires tcuq_ring_given(monitor) && tcuq_signals_ok(monitor->profile) && \valid_read(past);
    requires past->count <= TCUQ_MAX_LAGS && tcuq_found(monitor, past, past->count);
    assigns \nothing;
    ensures \result <= past->count; */
static uint32_t tcuq_zero_vectors(const tcuq_monitor *monitor, const tcuq_past *past);

/*@ requires tcuq_ring_given(monitor) && tcuq_signals_ok(monitor->profile) && tcuq_ring_ok(monitor);
    requires tcuq_slots_ok(monitor) && \valid_read(TCUQ_LAG_WEIGHTS) && \valid_read(past);
    requires past->count <= monitor->profile->lag_count && tcuq_found(monitor, past, past->count);
    requires \valid_read(posterior + (0 .. monitor->profile->classes - 1)) && \valid_read(products + (0 .. 7));
    requires \valid_read(now) && tcuq_slot_ok(now) && \valid(signals);
    requires \separated(signals, now, past, products + (0 .. 7)) && \separated(signals, TCUQ_PAST_OF);
    requires \separated(signals, TCUQ_LAG_WEIGHTS);
    requires \separated(signals, posterior + (0 .. monitor->profile->classes - 1));
    assigns signals->values_q15[0 .. 2], signals->whole_past; */
static void tcuq_look_back(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_past *past,
                           const int32_t *products, const tcuq_slot *now, tcuq_signals *signals);

/*@ requires \valid_read(profile) && \valid_read(read) && \valid(signals) && profile->blend_q15 <= 32768;
    requires \separated(signals, profile, read) && read->second <= read->first <= read->sum && tcuq_one_ok(read);
    assigns signals->confidence_q16, signals->values_q15[TCUQ_DOUBT], signals->low_confidence_q10;
    ensures signals->confidence_q16 <= 65536; */
static void tcuq_look_now(const tcuq_profile *profile, const tcuq_posterior *read, tcuq_signals *signals);

/*@ requires tcuq_ring_given(monitor) && tcuq_signals_ok(monitor->profile) && tcuq_ring_ok(monitor);
    requires tcuq_slots_ok(monitor) && \valid_read(posterior + (0 .. monitor->profile->classes - 1));
    requires \valid_read(now) && tcuq_slot_ok(now) && \separated(now, TCUQ_PAST_OF);
    requires \separated(posterior + (0 .. monitor->profile->classes - 1), TCUQ_POSTERIORS);
    assigns *TCUQ_POSTERIORS, *TCUQ_SLOTS, monitor->core->next, monitor->core->filled;
    ensures tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor); */
static void tcuq_remember(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_slot *now);

/* The contract of both functions that compute all signals but novelty and health. */
#define TCUQ_SIGNALS_CONTRACT \
    requires tcuq_ring_given(monitor) && tcuq_signals_ok(monitor->profile) && tcuq_ring_ok(monitor); \
    requires tcuq_slots_ok(monitor) && \valid_read(TCUQ_LAG_WEIGHTS) && tcuq_projection_given(monitor->profile); \
    requires tcuq_kept_ok(monitor); \
    requires \valid_read(posterior + (0 .. monitor->profile->classes - 1)) && \valid(signals); \
    requires \separated(posterior + (0 .. monitor->profile->classes - 1), TCUQ_PAST_OF); \
    requires \separated(signals, posterior + (0 .. monitor->profile->classes - 1)); \
    requires \valid_read(features + (0 .. monitor->profile->width - 1)); \
    requires \separated(features + (0 .. monitor->profile->width - 1), TCUQ_FEATURES); \
    requires \separated(signals, TCUQ_PAST_OF) && \separated(signals, TCUQ_LAG_WEIGHTS); \
    requires \separated(TCUQ_LAG_WEIGHTS, TCUQ_FEATURES); \
    requires monitor->profile->projection != \null ==> \separated(TCUQ_PROJECTION, TCUQ_FEATURES); \
    requires monitor->profile->selection != \null ==> \separated(TCUQ_SELECTION, TCUQ_FEATURES); \
    requires monitor->profile->projection != \null ==> \separated(TCUQ_BIASES, TCUQ_FEATURES); \
    requires monitor->profile->selection != \null ==> \separated(signals, TCUQ_SELECTION); \
    requires monitor->profile->projection != \null ==> \separated(signals, TCUQ_BIASES); \
    assigns *signals, TCUQ_KEPT_CLASSES, monitor->core->next, monitor->core->filled, *TCUQ_POSTERIORS, \
      *TCUQ_FEATURES, *TCUQ_SLOTS; \
    ensures tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor) && tcuq_kept_ok(monitor); \
    ensures signals->confidence_q16 <= 65536 && signals->label < monitor->profile->classes; \
    ensures monitor->profile->dimensions != 0 ==> \
      \result == monitor->features + tcuq_cells(\old(monitor->core->next), monitor->profile->dimensions);

/*@ TCUQ_SIGNALS_CONTRACT */
static const int8_t *tcuq_signals_run_projected(const tcuq_monitor *monitor, const uint8_t *posterior,
                                     const int8_t *features, tcuq_signals *signals);

/*@ TCUQ_SIGNALS_CONTRACT */
const int8_t *tcuq_signals_run_core(const tcuq_monitor *monitor, const uint8_t *posterior,
                           const int8_t *features, tcuq_signals *signals);

/*@ requires \valid_read(profile) && tcuq_lags_given(profile);
    assigns \nothing;
    ensures \result ==> 1 <= profile->lag_count <= TCUQ_MAX_LAGS && tcuq_lags_ascend(profile, profile->lag_count);
    ensures \result ==> profile->lag_weights_q15 != \null; */
bool tcuq_lags_sound(const tcuq_profile *profile);

/*@ requires tcuq_projection_given(profile) && tcuq_lags_given(profile);
    assigns \nothing;
    ensures \result ==> tcuq_signals_ok(profile) && profile->lag_weights_q15 != \null; */
bool tcuq_signals_sound(const tcuq_profile *profile);

/*@ requires \valid_read(monitor) && \valid(monitor->core) && \separated(monitor, monitor->core);
    assigns TCUQ_KEPT_CLASSES, monitor->core->next, monitor->core->filled;
    ensures monitor->core->next == 0 && monitor->core->filled == 0;
    ensures monitor->core->kept[0] == 0 && monitor->core->kept[1] == 1;
    ensures monitor->core->held_q15[0] == 0 && monitor->core->held_q15[1] == 0; */
void tcuq_signals_reset(const tcuq_monitor *monitor);

#endif
