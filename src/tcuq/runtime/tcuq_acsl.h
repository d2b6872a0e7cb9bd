/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what shifts are, what a sound monitor is, and what each function
 * asks, changes and leaves. Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_H
#define TCUQ_ACSL_H

/* C's shifts, which WP knows no numbers of. tools/proof/widths.py proves each over all 32 bits. */
/*@ axiomatic tcuq_shifts {
      axiom right_1: \forall integer x; 2 * (x >> 1) <= x < 2 * (x >> 1) + 2;
      axiom right_7: \forall integer x; 128 * (x >> 7) <= x < 128 * (x >> 7) + 128;
      axiom right_10: \forall integer x; 1024 * (x >> 10) <= x < 1024 * (x >> 10) + 1024;
      axiom right_11: \forall integer x; 2048 * (x >> 11) <= x < 2048 * (x >> 11) + 2048;
      axiom right_14: \forall integer x; 16384 * (x >> 14) <= x < 16384 * (x >> 14) + 16384;
      axiom right_15: \forall integer x; 32768 * (x >> 15) <= x < 32768 * (x >> 15) + 32768;
      axiom right_16: \forall integer x; 65536 * (x >> 16) <= x < 65536 * (x >> 16) + 65536;
      axiom right_26: \forall integer x; 67108864 * (x >> 26) <= x < 67108864 * (x >> 26) + 67108864;
      axiom left_1: \forall integer x; x << 1 == 2 * x;
      axiom left_2: \forall integer x; x << 2 == 4 * x;
      axiom left_4: \forall integer x; x << 4 == 16 * x;
      axiom left_7: \forall integer x; x << 7 == 128 * x;
      axiom left_8: \forall integer x; x << 8 == 256 * x;
      axiom left_10: \forall integer x; x << 10 == 1024 * x;
      axiom left_14: \forall integer x; x << 14 == 16384 * x;
      axiom left_16: \forall integer x; x << 16 == 65536 * x;
      axiom mask: \forall integer x, m; 0 <= m ==> 0 <= (x & m) <= m;
      axiom mask_left: \forall integer x, m; 0 <= m ==> 0 <= (m & x) <= m;
      axiom low_14: \forall integer x; 0 <= x <= 0x3FFF ==> (x & 0x3FFF) == x;
      axiom low_14_of_1: \forall integer x; 0x4000 <= x <= 0x7FFF ==> (x & 0x3FFF) == x - 0x4000;
      axiom low_14_of_2: \forall integer x; 0x8000 <= x <= 0xBFFF ==> (x & 0x3FFF) == x - 0x8000;
      axiom byte_left: \forall integer x, k; 0 <= x <= 255 && 0 <= k <= 24 ==> 0 <= (x << k) <= 0xFF000000;
      axiom one_left: \forall integer k; 0 <= k <= 31 ==> 1 <= (1 << k) <= 0x80000000;
      axiom clear_16: \forall uint32_t x; (x & 0xFFFF0000) == 0 <==> x < 0x10000;
      axiom clear_24: \forall uint32_t x; (x & 0xFF000000) == 0 <==> x < 0x1000000;
      axiom clear_28: \forall uint32_t x; (x & 0xF0000000) == 0 <==> x < 0x10000000;
      axiom clear_30: \forall uint32_t x; (x & 0xC0000000) == 0 <==> x < 0x40000000;
      axiom clear_31: \forall uint32_t x; (x & 0x80000000) == 0 <==> x < 0x80000000;
    } */

/* Rows of a table: a product with a name, so that its bounds are found by it. */
/*@ axiomatic tcuq_tables {
      logic integer tcuq_cells(integer rows, integer width);
      axiom cells: \forall integer n, w; tcuq_cells(n, w) == n * w;
      lemma cells_most: \forall integer n, w; 0 <= n <= 255 && 0 <= w <= 1000 ==> 0 <= tcuq_cells(n, w) <= 255000;
      lemma cells_wide: \forall integer n, w; 0 <= n <= 32 && 0 <= w <= 65535 ==> 0 <= tcuq_cells(n, w) <= 32 * 65535;
      lemma cells_64: \forall integer n, w; 0 <= n && 0 <= w <= 64 ==> 0 <= tcuq_cells(n, w) <= 64 * n;
      lemma cells_sum: \forall integer n, v, w; tcuq_cells(n, v + w) == tcuq_cells(n, v) + tcuq_cells(n, w);
      lemma cells_row: \forall integer r, n, w; 0 <= r < n && 0 <= w ==>
        0 <= tcuq_cells(r, w) && tcuq_cells(r, w) + w <= tcuq_cells(n, w);
    } */

/* Memory that is not given has no cells: null pointers need no cases below. */
/*@ logic integer tcuq_slots(tcuq_profile *p) = p->lags[p->lag_count - 1];
    logic integer tcuq_smoothed(tcuq_monitor *m) = m->smoothed_q8 == \null ? 0 : m->profile->term_count;
    logic integer tcuq_counters(tcuq_monitor *m) = m->telemetry == \null ? 0 : 1; */

/* What tcuq_init checks, stage by stage. */
/*@ predicate tcuq_sizes_ok(tcuq_profile *p) =
      2 <= p->classes <= TCUQ_MAX_CLASSES && p->dimensions <= TCUQ_MAX_DIMENSIONS &&
      1 <= p->lag_count <= TCUQ_MAX_LAGS && 1 <= tcuq_slots(p) && p->term_count <= TCUQ_MAX_TERMS &&
      p->channel_count <= TCUQ_MAX_CHANNELS;

    predicate tcuq_sizes_kept{A, B}(tcuq_profile *p) =
      \at(p->classes, A) == \at(p->classes, B) && \at(p->dimensions, A) == \at(p->dimensions, B) && \at(p->lag_count, A) == \at(p->lag_count, B) &&
      \at(p->term_count, A) == \at(p->term_count, B) && \at(p->channel_count, A) == \at(p->channel_count, B) &&
      \at(tcuq_slots(p), A) == \at(tcuq_slots(p), B);

    predicate tcuq_threshold_ok(tcuq_profile *p) =
      1 <= p->alpha_q16 && p->step <= TCUQ_MAX_STEP && p->start <= TCUQ_RISK_LEVELS &&
      p->anchor <= TCUQ_RISK_LEVELS;

    predicate tcuq_budget_ok(tcuq_profile *p) = p->rate_q16 <= TCUQ_TOKEN && p->burst_q16 <= INT32_MAX &&
      p->withhold_denied <= 1;

    predicate tcuq_decisions_ok(tcuq_profile *p) = tcuq_threshold_ok(p) && tcuq_budget_ok(p);

    predicate tcuq_counts_ok(uint16_t *counts, integer count) =
      \forall integer k; 0 <= k < count ==> 1 <= counts[k] <= TCUQ_COUNT_MAX;

    predicate tcuq_counts_grown(uint16_t *counts, integer most) =
      \forall integer k; 0 <= k < TCUQ_LEARNED_COUNTS ==>
        1 <= counts[k] <= 65535 && (counts[k] <= TCUQ_COUNT_MAX || counts[k] <= most);

    predicate tcuq_levels_ok(tcuq_channel_state *s) =
      \forall integer k; 0 <= k < TCUQ_BETS ==> s->levels[k] <= TCUQ_MAX_LEVEL;

    predicate tcuq_channel_ok(tcuq_channel *c) =
      TCUQ_MIN_BLOCK <= c->block <= TCUQ_MAX_BLOCK && 1 <= c->boot_limit_q8 <= 32767 && c->signal <= TCUQ_HEALTH &&
      -0x40000000 <= c->centre <= 0x40000000 && tcuq_counts_ok(&c->counts[0], TCUQ_COUNTS);

    predicate tcuq_channels_ok(tcuq_profile *p) =
      p->channel_count <= TCUQ_MAX_CHANNELS &&
      (p->channel_count != 0 ==> p->alarm_limit <= TCUQ_MAX_ALARM_LIMIT && 1 <= p->epoch_steps <= INT32_MAX) &&
      \forall integer i; 0 <= i < p->channel_count ==> tcuq_channel_ok(p->channels + i); */

/*@ predicate tcuq_limits_ok(tcuq_profile *p) =
      tcuq_sizes_ok(p) && tcuq_decisions_ok(p) && tcuq_channels_ok(p); */

/* What every step leaves, and tcuq_restore checks: with it no sum of the next step overflows. */
/*@ predicate tcuq_ring_ok(tcuq_monitor *m) =
      m->core->next < tcuq_slots(m->profile) && m->core->filled <= tcuq_slots(m->profile);

    predicate tcuq_ledger_ok(tcuq_monitor *m) =
      -65536 * m->profile->step <= m->core->ledger_q16 <= 65536 * (TCUQ_RISK_LEVELS + m->profile->step);

    predicate tcuq_tokens_ok(tcuq_monitor *m) = m->core->tokens_q16 <= m->profile->burst_q16;

    predicate tcuq_smoothed_ok(tcuq_monitor *m) =
      \forall integer i; 0 <= i < tcuq_smoothed(m) ==> 0 <= m->smoothed_q8[i] <= 0x400000;

    predicate tcuq_recent_ok(tcuq_monitor *m) = m->core->recent_q18 <= TCUQ_RECENT_MAX;

    predicate tcuq_kept_ok(tcuq_monitor *m) =
      m->core->kept[0] < m->profile->classes && m->core->kept[1] < m->profile->classes &&
      m->core->kept[0] != m->core->kept[1] && m->core->held_q15[0] + m->core->held_q15[1] <= 32768;

    predicate tcuq_channel_state_ok(tcuq_channel *c, tcuq_channel_state *s) =
      s->block_steps_and_memory < 0xC000 && (s->block_steps_and_memory & 0x3FFF) < c->block &&
      -65536 * (s->block_steps_and_memory & 0x3FFF) <= s->sum <= 65536 * (s->block_steps_and_memory & 0x3FFF) &&
      tcuq_levels_ok(s) && tcuq_counts_ok(&s->counts[0], TCUQ_LEARNED_COUNTS);

    predicate tcuq_epoch_ok(tcuq_monitor *m) =
      m->profile->channel_count != 0 ==> m->core->epoch_steps < m->profile->epoch_steps;

    predicate tcuq_alarm_ok(tcuq_monitor *m) =
      \forall integer i; 0 <= i < m->profile->channel_count ==>
        tcuq_channel_state_ok(m->profile->channels + i, m->channels + i);

    predicate tcuq_block_ok(tcuq_channel_state *s) =
      -0x40000000 < s->sum < 0x40000000 && tcuq_levels_ok(s) && tcuq_counts_ok(&s->counts[0], TCUQ_LEARNED_COUNTS);

    predicate tcuq_histogram_ok(tcuq_monitor *m) =
      m->telemetry != \null ==> m->telemetry->histogram_shift < 32;

    predicate tcuq_state_ok(tcuq_monitor *m) =
      tcuq_ring_ok(m) && tcuq_ledger_ok(m) && tcuq_tokens_ok(m) && tcuq_smoothed_ok(m) &&
      tcuq_recent_ok(m) && tcuq_kept_ok(m) && tcuq_epoch_ok(m) && tcuq_alarm_ok(m) && tcuq_histogram_ok(m); */

/* The logarithm as the code computes it. tools/proof/exhaustive.py runs every input. */
/*@ axiomatic tcuq_logarithms {
      logic integer tcuq_log2_of(integer x);
      axiom log2_ascends: \forall uint32_t x, y; 1 <= x <= y ==> 0 <= tcuq_log2_of(x) <= tcuq_log2_of(y) <= 32767;
    } */

/*@ requires value > 0;
    assigns \nothing;
    ensures \result == tcuq_log2_of(value) <= 32767 && (0x80000000 <= value ==> 31744 <= \result); */
uint16_t tcuq_log2_q10(uint32_t value);

/*@ requires 0x10000000 <= normalised < 0x40000000; assigns \nothing; ensures 16384 <= \result <= 32768; */
uint16_t tcuq_rsqrt_q14(uint32_t normalised);

/*@ requires -INT32_MAX <= logit_q16; assigns \nothing; ensures \result <= 65536; */
uint32_t tcuq_sigmoid(int32_t logit_q16);

/* Regions of a monitor's memory. */
#define TCUQ_POSTERIORS \
    (monitor->posteriors + (0 .. tcuq_cells(tcuq_slots(monitor->profile), monitor->profile->classes) - 1))
#define TCUQ_FEATURES \
    (monitor->features + (0 .. tcuq_cells(tcuq_slots(monitor->profile), monitor->profile->dimensions) - 1))
#define TCUQ_SLOTS (monitor->slots + (0 .. tcuq_slots(monitor->profile) - 1))
#define TCUQ_COUNTERS (monitor->telemetry + (0 .. tcuq_counters(monitor) - 1))
#define TCUQ_PROFILE monitor, monitor->profile, monitor->profile->channels + (0 .. monitor->profile->channel_count - 1)
#define TCUQ_CHANNEL_STATES (monitor->channels + (0 .. monitor->profile->channel_count - 1))
#define TCUQ_STATE \
    *monitor->core, *TCUQ_SLOTS, *TCUQ_POSTERIORS, *TCUQ_FEATURES, *TCUQ_SMOOTHED, *TCUQ_CHANNEL_STATES, \
    *TCUQ_COUNTERS
#define TCUQ_SMOOTHED (monitor->smoothed_q8 + (0 .. tcuq_smoothed(monitor) - 1))

/* Memory: the caller's, by the sizes the profile states, and no part within another. Sizes are numbers
 * here, so that what is given stays given where memory changes and the sizes do not. */
/*@ predicate tcuq_core_given(tcuq_monitor *m) =
      \valid_read(m) && \valid_read(m->profile) && \valid(m->core) && \separated(m->core, m, m->profile);

    predicate tcuq_channels_of(tcuq_monitor *m, integer count) =
      \valid_read(m) && \valid_read(m->profile) &&
      \valid_read(m->profile->channels + (0 .. count - 1)) && \valid(m->channels + (0 .. count - 1)) &&
      \separated(m->channels + (0 .. count - 1), m, m->profile, m->profile->channels + (0 .. count - 1));
    predicate tcuq_channels_given(tcuq_monitor *m) = tcuq_channels_of(m, m->profile->channel_count);

    predicate tcuq_past_of(tcuq_monitor *m, integer posteriors, integer features, integer smoothed) =
      \valid_read(m) && \valid_read(m->profile) && \valid(m->posteriors + (0 .. posteriors - 1)) &&
      \valid(m->features + (0 .. features - 1)) && \valid(m->smoothed_q8 + (0 .. smoothed - 1)) &&
      \separated(m, m->profile, m->posteriors + (0 .. posteriors - 1), m->features + (0 .. features - 1),
        m->smoothed_q8 + (0 .. smoothed - 1));
    predicate tcuq_past_given(tcuq_monitor *m) =
      tcuq_past_of(m, tcuq_cells(tcuq_slots(m->profile), m->profile->classes),
        tcuq_cells(tcuq_slots(m->profile), m->profile->dimensions), tcuq_smoothed(m));

    predicate tcuq_telemetry_of(tcuq_monitor *m, integer count) =
      \valid_read(m) && \valid(m->telemetry + (0 .. count - 1)) && \separated(m, m->telemetry + (0 .. count - 1));
    predicate tcuq_telemetry_given(tcuq_monitor *m) = tcuq_telemetry_of(m, tcuq_counters(m));

    predicate tcuq_apart_of(tcuq_monitor *m, integer slots, integer posteriors, integer features,
                            integer smoothed, integer channels, integer counters) =
      \valid(m->slots + (0 .. slots - 1)) &&
      \separated(m, m->profile, m->core, m->slots + (0 .. slots - 1), m->posteriors + (0 .. posteriors - 1),
        m->features + (0 .. features - 1), m->smoothed_q8 + (0 .. smoothed - 1),
        m->channels + (0 .. channels - 1), m->telemetry + (0 .. counters - 1),
        m->profile->channels + (0 .. channels - 1));

    predicate tcuq_given(tcuq_monitor *m) =
      tcuq_core_given(m) && tcuq_past_given(m) && tcuq_channels_given(m) && tcuq_telemetry_given(m) &&
      tcuq_apart_of(m, tcuq_slots(m->profile), tcuq_cells(tcuq_slots(m->profile), m->profile->classes),
        tcuq_cells(tcuq_slots(m->profile), m->profile->dimensions), tcuq_smoothed(m),
        m->profile->channel_count, tcuq_counters(m));

    predicate tcuq_held(tcuq_monitor *m) = tcuq_given(m) && tcuq_limits_ok(m->profile); */

/* Of a function that changes state: the profile is as it was. */
#define TCUQ_KEPT \
    ensures tcuq_sizes_kept{Old, Here}(monitor->profile); \
    ensures tcuq_sizes_ok(monitor->profile); \
    ensures tcuq_decisions_ok(monitor->profile); \
    ensures tcuq_channels_ok(monitor->profile);

/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures \result ==> tcuq_threshold_ok(profile); */
bool tcuq_threshold_sound(const tcuq_profile *profile);

/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures \result ==> tcuq_budget_ok(profile); */
bool tcuq_budget_sound(const tcuq_profile *profile);

/*@ requires tcuq_core_given(monitor) && \valid(decision);
    requires \separated(decision, monitor, monitor->profile, monitor->core);
    requires tcuq_threshold_ok(monitor->profile) && tcuq_ledger_ok(monitor) && decision->risk <= TCUQ_RISK_LEVELS;
    assigns monitor->core->ledger_q16, monitor->core->age, decision->exceeded, decision->threshold_q16,
      decision->reason;
    ensures tcuq_ledger_ok(monitor) && decision->exceeded <= 1 && decision->reason <= 3;
    ensures 65536 * decision->risk >= decision->threshold_q16 <==>
      decision->reason == TCUQ_REASON_DOUBT || decision->reason == 3;
    ensures decision->reason >= TCUQ_REASON_UNUSUAL <==> monitor->profile->novelty_limit_q10 != UINT16_MAX &&
      decision->novelty_q10 >= monitor->profile->novelty_limit_q10; */
void tcuq_threshold_run(const tcuq_monitor *monitor, tcuq_decision *decision);

/*@ requires tcuq_core_given(monitor) && tcuq_threshold_ok(monitor->profile);
    assigns monitor->core->ledger_q16, monitor->core->age;
    ensures tcuq_ledger_ok(monitor); */
void tcuq_threshold_reset(const tcuq_monitor *monitor);

/*@ requires tcuq_core_given(monitor) && tcuq_budget_ok(monitor->profile) && tcuq_tokens_ok(monitor);
    requires \valid(decision) && \separated(decision, monitor, monitor->profile, monitor->core);
    assigns monitor->core->tokens_q16, decision->outcome, decision->withheld;
    ensures tcuq_tokens_ok(monitor) && decision->outcome <= TCUQ_DENIED;
    ensures decision->outcome == TCUQ_ACCEPT <==> decision->reason == 0;
    ensures decision->withheld == (decision->outcome == TCUQ_ABSTAIN ? 1 :
      decision->outcome == TCUQ_DENIED ? monitor->profile->withhold_denied : 0);
    ensures decision->outcome == TCUQ_ABSTAIN ==>
      monitor->core->tokens_q16 + TCUQ_TOKEN <= \old(monitor->core->tokens_q16) + monitor->profile->rate_q16; */
void tcuq_budget_run(const tcuq_monitor *monitor, tcuq_decision *decision);

/*@ requires tcuq_core_given(monitor);
    assigns monitor->core->tokens_q16;
    ensures tcuq_tokens_ok(monitor); */
void tcuq_budget_reset(const tcuq_monitor *monitor);

/*@ requires \valid_read(profile) && (profile->channels != \null ==>
      \valid_read(profile->channels + (0 .. profile->channel_count - 1)));
    assigns \nothing;
    ensures \result ==> tcuq_channels_ok(profile) && (profile->channels == \null <==> profile->channel_count == 0); */
bool tcuq_alarm_sound(const tcuq_profile *profile);

/*@ requires \valid_read(counts + (0 .. count - 1));
    assigns \nothing;
    ensures \result ==> tcuq_counts_ok(counts, count); */
bool tcuq_counts_sound(const uint16_t *counts, uint32_t count);

/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures \result ==> signal < TCUQ_SIGNALS; */
bool tcuq_signal_given(const tcuq_profile *profile, uint8_t signal);

/*@ requires \valid_read(signals);
    assigns \nothing; */
int16_t tcuq_signal_value(const tcuq_signals *signals, uint8_t signal);

#define TCUQ_CHANNELS monitor->channels[0 .. monitor->profile->channel_count - 1]
/* The same inside a loop that changes them. */
#define TCUQ_CHANNELS_BEFORE \
    \at(monitor->channels, Pre)[0 .. \at(monitor->profile->channel_count, Pre) - 1]
#define TCUQ_EPOCH_CORE monitor->core->epoch_steps, monitor->core->last_epoch_evidence, monitor->core->epoch

/* Counters go on from 0 after 2^32 - 1: the one function that is meant to wrap. */
/*@ requires tcuq_core_given(monitor) && \valid(monitor->telemetry) && \valid_read(decision) && \valid_read(signals);
    requires \separated(monitor->telemetry, monitor, monitor->profile, monitor->core, decision, signals);
    requires tcuq_histogram_ok(monitor) && decision->exceeded <= 1;
    assigns *monitor->telemetry;
    ensures tcuq_histogram_ok(monitor); */
void tcuq_telemetry_count(const tcuq_monitor *monitor, const tcuq_signals *signals, const tcuq_decision *decision);

/*@ requires \valid_read(monitor) && \valid(monitor->telemetry) && \separated(monitor->telemetry, monitor);
    assigns monitor->telemetry->means[0 .. TCUQ_EPOCH_MEANS - 1], monitor->telemetry->sums[0 .. TCUQ_EPOCH_MEANS - 1],
      monitor->telemetry->carried[0 .. TCUQ_EPOCH_MEANS - 1], monitor->telemetry->last_label; */
void tcuq_means_reset(const tcuq_monitor *monitor);

/*@ requires \valid_read(monitor) && \valid_read(monitor->core) && \valid_read(monitor->telemetry) && which < TCUQ_EPOCH_MEANS;
    assigns \nothing; */
uint16_t tcuq_mean(const tcuq_monitor *monitor, uint32_t which);

/*@ requires \valid_read(monitor) && \valid(monitor->telemetry) && \separated(monitor->telemetry, monitor);
    assigns *monitor->telemetry;
    ensures tcuq_histogram_ok(monitor); */
void tcuq_telemetry_reset(const tcuq_monitor *monitor);

/*@ requires \valid_read(monitor) && \valid_read(monitor->telemetry) && \valid(at + (0 .. 50));
    requires \separated(at + (0 .. 50), monitor, monitor->telemetry);
    assigns at[0 .. 50]; */
void tcuq_put_counters(const tcuq_monitor *monitor, uint8_t *at);

/*@ requires \valid_read(bytes + (0 .. size - 1));
    assigns \nothing; */
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size);

/* The bytes of a snapshot: all parts, none of them twice. */
/*@ logic integer tcuq_past_bytes(tcuq_monitor *m) =
      tcuq_cells(tcuq_slots(m->profile), m->profile->classes) + tcuq_cells(tcuq_slots(m->profile), m->profile->dimensions) +
      4 * tcuq_smoothed(m);
    logic integer tcuq_snapshot_bytes(tcuq_monitor *m) =
      52 + tcuq_past_bytes(m) + 32 * m->profile->channel_count + 103 * tcuq_counters(m); */

/*@ requires \valid_read(monitor) && \valid_read(monitor->profile) && tcuq_sizes_ok(monitor->profile);
    assigns \nothing;
    ensures \result == tcuq_snapshot_bytes(monitor) <= 0x100000; */
uint32_t tcuq_snapshot_size(const tcuq_monitor *monitor);

/*@ requires tcuq_held(monitor);
    requires buffer == \null || \valid(buffer + (0 .. size - 1));
    requires \separated(buffer + (0 .. size - 1), TCUQ_PROFILE, monitor->core, TCUQ_COUNTERS);
    assigns buffer[0 .. size - 1]; */
tcuq_status tcuq_snapshot(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size);

/*@ requires tcuq_held(monitor) && tcuq_alarm_ok(monitor);
    requires identity == \null || \valid_read(identity);
    requires buffer == \null || \valid(buffer + (0 .. size - 1));
    requires \separated(buffer + (0 .. size - 1), monitor, monitor->profile, monitor->core, TCUQ_COUNTERS, identity);
    requires \separated(buffer + (0 .. size - 1), TCUQ_CHANNEL_STATES,
      monitor->profile->channels + (0 .. monitor->profile->channel_count - 1));
    assigns buffer[0 .. size - 1]; */
tcuq_status tcuq_record(const tcuq_monitor *monitor, const tcuq_identity *identity, uint8_t *buffer, uint32_t size);

/*@ requires tcuq_held(monitor);
    assigns *TCUQ_SLOTS;
    TCUQ_KEPT */
void tcuq_signals_refresh(const tcuq_monitor *monitor);

#endif
