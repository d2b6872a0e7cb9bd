/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: what the monitor asks, changes and leaves. */
#ifndef TCUQ_ACSL_MONITOR_H
#define TCUQ_ACSL_MONITOR_H

/* Tables are where their pointers say; what they hold is checked by tcuq_init. */
/*@ predicate tcuq_profile_given(tcuq_profile *p) =
      tcuq_tables_given(p) && tcuq_projection_given(p) && tcuq_lags_given(p) && tcuq_novelty_given(p) &&
      tcuq_health_given(p) &&
      (p->channels != \null ==> \valid_read(p->channels + (0 .. p->channel_count - 1)));

    predicate tcuq_profile_ok(tcuq_profile *p) =
      tcuq_signals_ok(p) && p->lag_weights_q15 != \null && tcuq_score_ok(p) && tcuq_novelty_ok(p) &&
      tcuq_health_ok(p) &&
      tcuq_channels_ok(p) && tcuq_decisions_ok(p);

    predicate tcuq_memory_ok(tcuq_monitor *m) =
      m->core != \null && m->slots != \null && m->posteriors != \null &&
      (m->profile->width == 0 || m->features != \null) &&
      (m->profile->channels == \null || m->channels != \null); */

/*@ assigns \nothing; */
const char *tcuq_strerror(tcuq_status status);

/*@ requires tcuq_profile_given(profile);
    assigns \nothing;
    ensures \result ==> tcuq_profile_ok(profile); */
static bool tcuq_profile_sound(const tcuq_profile *profile);

/*@ requires \valid_read(monitor) && tcuq_profile_given(monitor->profile) && tcuq_profile_ok(monitor->profile);
    assigns \nothing;
    ensures \result ==> tcuq_memory_ok(monitor); */
static bool tcuq_memory_given(const tcuq_monitor *monitor);

/* That memory which is given is as large as the profile says is the caller's to see to. */
/*@ requires monitor != \null ==> \valid_read(monitor);
    requires monitor != \null && monitor->profile != \null ==> tcuq_profile_given(monitor->profile);
    requires monitor != \null && monitor->profile != \null && tcuq_profile_ok(monitor->profile) &&
      tcuq_memory_ok(monitor) ==> tcuq_given(monitor) &&
        (monitor->profile->term_count != 0 ==> tcuq_terms_given(monitor));
    assigns TCUQ_STATE;
    ensures \result == TCUQ_OK ==> tcuq_profile_ok{Pre}(monitor->profile) && tcuq_state_ok(monitor); */
tcuq_status tcuq_init(tcuq_monitor *monitor);

/* What a step gives back is no part of the terms' tables. */
/*@ predicate tcuq_no_term(tcuq_profile *p, tcuq_decision *d) =
      \forall integer i; 0 <= i < p->term_count ==> \base_addr(p->terms + i) != \base_addr(d) &&
        \base_addr(p->terms[i].points) != \base_addr(d) && \base_addr(p->terms[i].bits_q10) != \base_addr(d); */

/* What tcuq_init, tcuq_step and tcuq_restore leave. */
/*@ predicate tcuq_ready(tcuq_monitor *m) =
      tcuq_held(m) && tcuq_ring_given(m) && tcuq_profile_given(m->profile) && tcuq_profile_ok(m->profile) &&
      (m->profile->terms != \null ==> tcuq_terms_given(m)) && tcuq_state_ok(m) && tcuq_slots_ok(m); */

/* The profile's tables are no part of the state. */
#define TCUQ_TABLES_APART \
    requires monitor->profile->whitening != \null ==> \separated(TCUQ_SHIFTS, monitor->core) && \
      \separated(TCUQ_SHIFTS, TCUQ_POSTERIORS) && \separated(TCUQ_SHIFTS, TCUQ_SLOTS); \
    requires \separated(TCUQ_LAG_WEIGHTS, TCUQ_FEATURES); \
    requires monitor->profile->projection != \null ==> \separated(TCUQ_PROJECTION, TCUQ_FEATURES); \
    requires monitor->profile->selection != \null ==> \separated(TCUQ_SELECTION, TCUQ_FEATURES); \
    requires monitor->profile->projection != \null ==> \separated(TCUQ_BIASES, TCUQ_FEATURES);

/* The step's own memory is no part of the monitor's, nor of the tables of novelty and input health. */
#define TCUQ_STEP_APART(other) \
    requires monitor->profile->whitening != \null ==> \separated(other, TCUQ_SHIFTS) && \
      \separated(other, TCUQ_MEANS) && \separated(other, TCUQ_SQUARES); \
    requires \separated(posterior + (0 .. monitor->profile->classes - 1), TCUQ_PAST_OF); \
    requires \separated(features + (0 .. monitor->profile->width - 1), TCUQ_FEATURES); \
    requires \separated(other, posterior + (0 .. monitor->profile->classes - 1)); \
    requires \separated(other, TCUQ_PAST_OF) && \separated(other, TCUQ_LAG_WEIGHTS); \
    requires health != \null ==> \valid_read(TCUQ_STATISTICS) && \separated(other, TCUQ_STATISTICS); \
    requires monitor->profile->health_count != 0 ==> \separated(other, TCUQ_HEALTH_TABLES);

#define TCUQ_SHIFTS (monitor->profile->whitening_shift + (0 .. 4 * tcuq_quads_of(monitor->profile) - 1))
#define TCUQ_MEANS (monitor->profile->means + (0 .. tcuq_mean_cells(monitor->profile) - 1))
#define TCUQ_SQUARES (monitor->profile->mean_squares + (0 .. monitor->profile->mean_count - 1))
#define TCUQ_STATISTICS (health + (0 .. monitor->profile->health_count - 1))
#define TCUQ_HEALTH_TABLES \
    monitor->profile->health_means + (0 .. monitor->profile->health_count - 1), \
    monitor->profile->health_weights_q9 + (0 .. monitor->profile->health_count - 1)

/*@ requires tcuq_health_given(profile) && tcuq_health_ok(profile) && \valid(signals) && \separated(signals, profile);
    requires health != \null && profile->health_count != 0 ==>
      \valid_read(health + (0 .. profile->health_count - 1)) &&
      \separated(signals, health + (0 .. profile->health_count - 1)) &&
      \separated(signals, profile->health_means + (0 .. profile->health_count - 1)) &&
      \separated(signals, profile->health_weights_q9 + (0 .. profile->health_count - 1));
    assigns signals->health_given, signals->health_q10, signals->health_worst;
    ensures signals->health_worst != 0 ==> health != \null && (signals->health_worst & 15) < profile->health_count; */
static void tcuq_signals_health(const tcuq_profile *profile, const int16_t *health, tcuq_signals *signals);

/*@ requires tcuq_ready(monitor) && \valid(signals);
    requires \valid_read(posterior + (0 .. monitor->profile->classes - 1));
    requires \valid_read(features + (0 .. monitor->profile->width - 1));
    TCUQ_TABLES_APART
    TCUQ_STEP_APART(signals)
    requires monitor->profile->selection != \null ==> \separated(signals, TCUQ_SELECTION);
    requires monitor->profile->projection != \null ==> \separated(signals, TCUQ_BIASES);
    assigns *signals, TCUQ_KEPT_CLASSES, monitor->core->next, monitor->core->filled, *TCUQ_POSTERIORS, *TCUQ_FEATURES,
      *TCUQ_SLOTS;
    ensures tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor) && tcuq_kept_ok(monitor);
    ensures signals->confidence_q16 <= 65536 && signals->label < monitor->profile->classes;
    ensures signals->health_worst != 0 ==> health != \null && (signals->health_worst & 15) < monitor->profile->health_count; */
static void tcuq_signals_run(const tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
                             const int16_t *health, tcuq_signals *signals);

/*@ requires tcuq_alarm_given(monitor) && \valid_read(signals);
    requires signals->health_worst != 0 ==> (signals->health_worst & 15) < monitor->profile->health_count &&
      \valid_read(TCUQ_STATISTICS) &&
      \valid_read(monitor->profile->health_means + (0 .. monitor->profile->health_count - 1));
    assigns monitor->core->suspect, TCUQ_CHANNELS;
    ensures tcuq_alarm_ok{Old}(monitor) ==> tcuq_alarm_ok(monitor); */
static void tcuq_alarm_note(const tcuq_monitor *monitor, const int16_t *health, const tcuq_signals *signals);

/*@ requires tcuq_ready(monitor) && \valid(decision);
    requires \valid_read(posterior + (0 .. monitor->profile->classes - 1));
    requires \valid_read(features + (0 .. monitor->profile->width - 1));
    TCUQ_TABLES_APART
    TCUQ_STEP_APART(decision)
    requires \separated(decision, TCUQ_SMOOTHED) && \separated(decision, TCUQ_CHANNEL_STATES, TCUQ_COUNTERS);
    requires \separated(decision, TCUQ_PROFILE) && tcuq_no_term(monitor->profile, decision);
    assigns *decision, TCUQ_STATE;
    ensures tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor);
    ensures tcuq_ledger_ok(monitor) && tcuq_tokens_ok(monitor) && tcuq_recent_ok(monitor);
    ensures tcuq_smoothed_ok(monitor) && tcuq_kept_ok(monitor);
    ensures tcuq_epoch_ok(monitor) && tcuq_alarm_ok(monitor) && tcuq_histogram_ok(monitor); */
void tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
               const int16_t *health, tcuq_decision *decision);

/*@ requires \valid_read(monitor) && \valid_read(monitor->core);
    assigns \nothing;
    ensures \result == (monitor->core->cause != 0); */
bool tcuq_alarm_stands(const tcuq_monitor *monitor);

/*@ requires tcuq_held(monitor) && tcuq_state_ok(monitor);
    assigns monitor->core->age, monitor->core->cause, monitor->core->suspect, TCUQ_CHANNELS;
    ensures tcuq_state_ok(monitor); */
void tcuq_alarm_acknowledge(tcuq_monitor *monitor);

/*@ requires tcuq_held(monitor) && (monitor->profile->term_count != 0 ==> tcuq_tables_ready(monitor));
    assigns TCUQ_KEPT_CLASSES, monitor->core->next, monitor->core->filled, monitor->core->recent_q18, *TCUQ_SMOOTHED;
    ensures tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor) && tcuq_smoothed_ok(monitor) && tcuq_recent_ok(monitor);
    ensures tcuq_kept_ok(monitor); */
void tcuq_reset_history(tcuq_monitor *monitor);

/*@ requires tcuq_held(monitor) && (monitor->profile->term_count != 0 ==> tcuq_tables_ready(monitor));
    assigns TCUQ_STATE;
    ensures tcuq_state_ok(monitor); */
void tcuq_reset(tcuq_monitor *monitor);

/*@ requires tcuq_held(monitor) && tcuq_state_ok(monitor);
    requires monitor->profile->term_count != 0 ==> tcuq_tables_ready(monitor);
    requires buffer == \null || \valid_read(buffer + (0 .. size - 1));
    requires \separated(buffer + (0 .. size - 1), monitor->core, TCUQ_POSTERIORS, TCUQ_FEATURES,
      TCUQ_SMOOTHED, TCUQ_CHANNEL_STATES, TCUQ_COUNTERS);
    assigns TCUQ_STATE;
    ensures tcuq_state_ok(monitor); */
tcuq_status tcuq_restore(tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size);

#endif
