/* SPDX-License-Identifier: Apache-2.0 */
/* Restore: a snapshot's bytes as a monitor's state, or refused.
 *
 * The state's values must be ones that steps could have left: tcuq_step does not check them again. */
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#if TCUQ_STATE_AS_WIRE

static void tcuq_get_state(const tcuq_monitor *monitor, const uint8_t *at)
{
    tcuq_place place = {.to = NULL, .from = at};
    tcuq_move_state(monitor, &place);
}

#else

/*@ requires \valid_read(at + (0 .. 1));
    assigns \nothing; */
static int16_t tcuq_get_signed_16(const uint8_t *at)
{
    const int32_t value = tcuq_get_16(at);
    return (int16_t)((value < 32768) ? value : value - 65536);
}

/*@ requires tcuq_core_given(monitor) && tcuq_limits_ok(monitor->profile) && \valid_read(at + (0 .. 35));
    requires \separated(monitor->core, at + (0 .. 35)) && \separated(monitor->core, TCUQ_PROFILE);
    assigns *monitor->core;
    TCUQ_KEPT */
static void tcuq_get_core(const tcuq_monitor *monitor, const uint8_t *at)
{
    tcuq_core *core = monitor->core;
    core->ledger_q16 = tcuq_get_signed(at);
    core->age = tcuq_get_32(&at[4]);
    core->tokens_q16 = tcuq_get_32(&at[8]);
    core->next = at[12];
    core->filled = at[13];
    core->last_epoch_evidence = tcuq_signed_byte(at[14]);
    core->cause = at[15];
    core->epoch_steps = tcuq_get_32(&at[16]);
    core->epoch = tcuq_get_16(&at[20]);
    core->suspect = tcuq_get_16(&at[22]);
    core->recent_q18 = tcuq_get_32(&at[24]);
    core->kept[0] = tcuq_get_16(&at[28]);
    core->kept[1] = tcuq_get_16(&at[30]);
    core->held_q15[0] = tcuq_get_16(&at[32]);
    core->held_q15[1] = tcuq_get_16(&at[34]);
}

/* Posteriors, features and smoothed terms. */
/*@ requires tcuq_past_given(monitor) && tcuq_limits_ok(monitor->profile);
    requires \valid_read(at + (0 .. tcuq_past_bytes(monitor) - 1));
    requires \separated(TCUQ_POSTERIORS, TCUQ_SMOOTHED, TCUQ_PROFILE);
    requires \separated(at + (0 .. tcuq_past_bytes(monitor) - 1), TCUQ_POSTERIORS, TCUQ_FEATURES, TCUQ_SMOOTHED);
    assigns *TCUQ_POSTERIORS, *TCUQ_FEATURES, *TCUQ_SMOOTHED;
    TCUQ_KEPT
    ensures \result == at + \old(tcuq_past_bytes(monitor)); */
static const uint8_t *tcuq_get_past(const tcuq_monitor *monitor, const uint8_t *at)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    //@ assert slots * profile->classes == tcuq_cells(tcuq_slots(profile), profile->classes);
    //@ assert slots * profile->dimensions == tcuq_cells(tcuq_slots(profile), profile->dimensions);
    const uint32_t posteriors = slots * profile->classes;
    const uint32_t features = slots * profile->dimensions;
    const uint8_t terms = (monitor->smoothed_q8 != NULL) ? profile->term_count : 0u;
    /*@ loop invariant i <= posteriors;
        loop assigns i, monitor->posteriors[0 .. posteriors - 1];
        loop variant posteriors - i; */
    for (uint32_t i = 0u; i < posteriors; i++) {
        monitor->posteriors[i] = at[i];
    }
    //@ assert tcuq_sizes_kept{Pre, Here}(profile);
    at += posteriors;
    /*@ loop invariant i <= features;
        loop assigns i, monitor->features[0 .. features - 1];
        loop variant features - i; */
    for (uint32_t i = 0u; i < features; i++) {
        monitor->features[i] = tcuq_signed_byte(at[i]);
    }
    at += features;
    /*@ loop invariant i <= terms && at == \at(at, LoopEntry) + 4 * i;
        loop invariant tcuq_channels_ok(profile);
        loop assigns i, at, monitor->smoothed_q8[0 .. terms - 1];
        loop variant terms - i; */
    for (uint8_t i = 0u; i < terms; i++) {
        monitor->smoothed_q8[i] = tcuq_get_signed(at);
        at += 4;
    }
    return at;
}

/*@ requires tcuq_channels_given(monitor) && tcuq_limits_ok(monitor->profile);
    requires \valid_read(at + (0 .. 32 * monitor->profile->channel_count - 1));
    requires \separated(TCUQ_CHANNEL_STATES, at + (0 .. 32 * monitor->profile->channel_count - 1));
    assigns *TCUQ_CHANNEL_STATES;
    TCUQ_KEPT
    ensures \result == at + 32 * monitor->profile->channel_count; */
static const uint8_t *tcuq_get_channels(const tcuq_monitor *monitor, const uint8_t *at)
{
    //@ ghost const uint32_t count = monitor->profile->channel_count;
    /*@ loop invariant i <= count == monitor->profile->channel_count && at == \at(at, Pre) + 32 * i;
        loop assigns i, at, monitor->channels[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        tcuq_channel_state *state = &monitor->channels[i];
        state->sum = tcuq_get_signed(at);
        state->block_steps_and_memory = tcuq_get_16(&at[4]);
        state->onset_q8 = tcuq_get_signed_16(&at[6]);
        state->span_q8 = tcuq_get_signed_16(&at[8]);
        /*@ loop invariant k <= TCUQ_LEARNED_COUNTS;
            loop assigns k, state->counts[0 .. TCUQ_LEARNED_COUNTS - 1];
            loop variant TCUQ_LEARNED_COUNTS - k; */
        for (uint32_t k = 0u; k < TCUQ_LEARNED_COUNTS; k++) {
            state->counts[k] = tcuq_get_16(&at[10u + 2u * k]);
        }
        state->levels[0] = at[28];
        state->levels[1] = at[29];
        state->levels[2] = at[30];
        state->change = tcuq_signed_byte(at[31]);
        at += TCUQ_SNAPSHOT_CHANNEL;
    }
    return at;
}

/*@ requires \valid(telemetry) && \valid_read(at + (0 .. 102)) && \separated(telemetry, at + (0 .. 102));
    assigns *telemetry; */
static void tcuq_get_counters(tcuq_telemetry *telemetry, const uint8_t *at)
{
    telemetry->steps = tcuq_get_32(at);
    telemetry->abstained = tcuq_get_32(&at[4]);
    telemetry->denied = tcuq_get_32(&at[8]);
    telemetry->exceeded = tcuq_get_32(&at[12]);
    telemetry->alarms = tcuq_get_16(&at[16]);
    telemetry->histogram_shift = at[18];
    /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS;
        loop assigns i, telemetry->histogram[0 .. TCUQ_HISTOGRAM_BINS - 1];
        loop variant TCUQ_HISTOGRAM_BINS - i; */
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        telemetry->histogram[i] = tcuq_get_16(&at[19u + 2u * i]);
    }
    at += TCUQ_SNAPSHOT_COUNTERS;
    telemetry->last_label = tcuq_get_16(&at[10]);
    /*@ loop invariant i <= TCUQ_EPOCH_MEANS;
        loop assigns i, telemetry->means[0 .. TCUQ_EPOCH_MEANS - 1], telemetry->sums[0 .. TCUQ_EPOCH_MEANS - 1],
          telemetry->carried[0 .. TCUQ_EPOCH_MEANS - 1];
        loop variant TCUQ_EPOCH_MEANS - i; */
    for (uint8_t i = 0u; i < TCUQ_EPOCH_MEANS; i++) {
        telemetry->means[i] = tcuq_get_16(&at[2u * i]);
        telemetry->sums[i] = tcuq_get_32(&at[12u + 4u * i]);
        telemetry->carried[i] = tcuq_get_32(&at[32u + 4u * i]);
    }
}

/*@ requires tcuq_telemetry_given(monitor) && tcuq_limits_ok(monitor->profile);
    requires \valid_read(monitor->profile) && \valid_read(at + (0 .. 103 * tcuq_counters(monitor) - 1));
    requires \separated(TCUQ_COUNTERS, at + (0 .. 103 * tcuq_counters(monitor) - 1));
    requires \separated(TCUQ_COUNTERS, TCUQ_PROFILE);
    assigns *TCUQ_COUNTERS;
    TCUQ_KEPT */
static void tcuq_get_telemetry(const tcuq_monitor *monitor, const uint8_t *at)
{
    if (monitor->telemetry != NULL) {
        tcuq_get_counters(monitor->telemetry, at);
    }
}

/* Everything between a snapshot's head and its checksum. */
/*@ requires tcuq_held(monitor) && \valid_read(at + (0 .. tcuq_snapshot_bytes(monitor) - 17));
    requires \separated(at + (0 .. tcuq_snapshot_bytes(monitor) - 17), monitor->core, TCUQ_POSTERIORS, TCUQ_FEATURES,
      TCUQ_SMOOTHED, TCUQ_CHANNEL_STATES, TCUQ_COUNTERS);
    assigns *monitor->core, *TCUQ_POSTERIORS, *TCUQ_FEATURES, *TCUQ_SMOOTHED, *TCUQ_CHANNEL_STATES, *TCUQ_COUNTERS;
    TCUQ_KEPT */
static void tcuq_get_state(const tcuq_monitor *monitor, const uint8_t *at)
{
    tcuq_get_core(monitor, at);
    at = tcuq_get_past(monitor, &at[TCUQ_SNAPSHOT_CORE]);
    at = tcuq_get_channels(monitor, at);
    tcuq_get_telemetry(monitor, at);
}

#endif

/*@ requires tcuq_core_given(monitor) && tcuq_sizes_ok(monitor->profile) && tcuq_decisions_ok(monitor->profile);
    assigns \nothing;
    ensures \result ==> tcuq_ring_ok(monitor) && tcuq_ledger_ok(monitor) && tcuq_tokens_ok(monitor) && tcuq_recent_ok(monitor);
    ensures \result ==> tcuq_kept_ok(monitor) && tcuq_epoch_ok(monitor); */
static bool tcuq_core_possible(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    const tcuq_core *core = monitor->core;
    const uint8_t slots = profile->lags[profile->lag_count - 1u];
    const int32_t slack = (int32_t)((uint32_t)profile->step << 16);
#if TCUQ_WITH_ALARM
    if ((profile->channel_count != 0u) && (core->epoch_steps >= profile->epoch_steps)) {
        return false;
    }
#endif
    const uint32_t classes = tcuq_has_outputs(profile) ? 2u : profile->classes; /* which a reset keeps */
    return (core->kept[0] < classes) && (core->kept[1] < classes) &&
           (core->kept[0] != core->kept[1]) &&
           (((uint32_t)core->held_q15[0] + core->held_q15[1]) <= 32768u) &&
           (core->next < slots) && (core->filled <= slots) && (core->tokens_q16 <= profile->burst_q16) &&
           (core->recent_q18 <= TCUQ_RECENT_MAX) && (core->ledger_q16 >= -slack) &&
           (core->ledger_q16 <= (int32_t)((uint32_t)TCUQ_RISK_LEVELS << 16) + slack);
}

#if TCUQ_WITH_ALARM
/*@ requires \valid_read(channel) && \valid_read(state) && tcuq_channel_ok(channel);
    assigns \nothing;
    ensures \result ==> tcuq_channel_state_ok(channel, state); */
static bool tcuq_channel_possible(const tcuq_channel *channel, const tcuq_channel_state *state)
{
    const uint16_t steps = (uint16_t)(state->block_steps_and_memory & TCUQ_BLOCK_STEPS_MASK);
    if (steps >= channel->block) {
        return false;
    }
    const int32_t most = (int32_t)steps * 65536;
    return (state->sum <= most) && (state->sum >= -most) &&
           ((state->block_steps_and_memory >> TCUQ_RECENT_SHIFT) <= TCUQ_RECENT_BLOCKS) &&
           (state->levels[0] <= TCUQ_MAX_LEVEL) && (state->levels[1] <= TCUQ_MAX_LEVEL) &&
           (state->levels[2] <= TCUQ_MAX_LEVEL) &&
           tcuq_counts_sound(state->counts, TCUQ_LEARNED_COUNTS);
}
#endif

/* The values are ones that steps could have left. */
/*@ requires tcuq_held(monitor);
    assigns \nothing;
    ensures \result ==> tcuq_state_ok(monitor); */
static bool tcuq_state_possible(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    if (!tcuq_core_possible(monitor)) {
        return false;
    }
    /*@ loop invariant i <= profile->term_count;
        loop invariant monitor->smoothed_q8 == \null || \forall integer k; 0 <= k < i ==>
          0 <= monitor->smoothed_q8[k] <= 0x400000;
        loop assigns i;
        loop variant profile->term_count - i; */
    for (uint32_t i = 0u; (monitor->smoothed_q8 != NULL) && (i < profile->term_count); i++) {
        const int32_t value = monitor->smoothed_q8[i];
        if ((value > ((int32_t)1 << 22)) || (value < 0)) {
            return false;
        }
    }
#if TCUQ_WITH_ALARM
    /*@ loop invariant i <= profile->channel_count;
        loop invariant \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(profile->channels + k, monitor->channels + k);
        loop assigns i;
        loop variant profile->channel_count - i; */
    for (uint32_t i = 0u; i < profile->channel_count; i++) {
        if (!tcuq_channel_possible(&profile->channels[i], &monitor->channels[i])) {
            return false;
        }
    }
#endif
    //@ assert tcuq_ring_ok(monitor) && tcuq_ledger_ok(monitor) && tcuq_tokens_ok(monitor) && tcuq_recent_ok(monitor);
    //@ assert tcuq_kept_ok(monitor) && tcuq_epoch_ok(monitor);
    //@ assert tcuq_smoothed_ok(monitor);
    //@ assert tcuq_alarm_ok(monitor);
    return (monitor->telemetry == NULL) || (monitor->telemetry->histogram_shift < 32u);
}

tcuq_status tcuq_restore(tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size)
{
    if ((buffer == NULL) || (size < (TCUQ_SNAPSHOT_HEAD + TCUQ_SNAPSHOT_CRC))) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    const uint32_t body = size - TCUQ_SNAPSHOT_CRC;
    const uint32_t stated = tcuq_get_32(&buffer[8]);
    if ((tcuq_get_32(buffer) != TCUQ_SNAPSHOT_MAGIC) || ((stated & 0xFFFFFFu) != size) ||
        (tcuq_get_32(&buffer[body]) != tcuq_crc32(buffer, body))) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    if ((stated >> 24) != TCUQ_SNAPSHOT_VERSION) {
        return TCUQ_ERROR_VERSION;
    }
    if (tcuq_get_32(&buffer[4]) != monitor->profile->hash) {
        return TCUQ_ERROR_FOREIGN;
    }
    if (size != tcuq_snapshot_size(monitor)) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    tcuq_get_state(monitor, &buffer[TCUQ_SNAPSHOT_HEAD]);
    //@ assert tcuq_held(monitor);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_given(monitor);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_ok(monitor->profile, monitor->profile->term_count);
    tcuq_signals_refresh(monitor);
    //@ assert tcuq_held(monitor);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_given(monitor);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_ok(monitor->profile, monitor->profile->term_count);
    if (!tcuq_state_possible(monitor)) {
        tcuq_reset(monitor); /* a true CRC over impossible values: start anew rather than go on */
        return TCUQ_ERROR_SNAPSHOT;
    }
    return TCUQ_OK;
}
