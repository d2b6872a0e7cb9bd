/* SPDX-License-Identifier: Apache-2.0 */
/* Restore: a snapshot's bytes as a monitor's state, or refused.
 *
 * The state's values must be ones that steps could have left: tcuq_step does not check them again. */
#include "tcuq_internal.h"

/*@ requires bytes <= 4 && \valid_read(at + (0 .. bytes - 1)) && \valid(value);
    requires \separated(value, at + (0 .. bytes - 1));
    assigns *value;
    ensures \result == at + bytes; */
static const uint8_t *tcuq_get(const uint8_t *at, uint8_t bytes, uint32_t *value)
{
    *value = 0u;
    /*@ loop invariant i <= bytes;
        loop assigns i, *value;
        loop variant bytes - i; */
    for (uint8_t i = 0u; i < bytes; i++) {
        *value |= (uint32_t)at[i] << (8u * i);
    }
    return at + bytes;
}

/*@ requires \valid_read(at + (0 .. 3)) && \valid(value) && \separated(value, at + (0 .. 3));
    assigns *value;
    ensures \result == at + 4; */
static const uint8_t *tcuq_get_signed(const uint8_t *at, int32_t *value)
{
    uint32_t raw;
    at = tcuq_get(at, 4u, &raw);
    *value = (raw > (uint32_t)INT32_MAX) ? (int32_t)(raw - 0x80000000u) + INT32_MIN : (int32_t)raw;
    return at;
}

/*@ requires tcuq_core_given(monitor) && tcuq_sizes_ok(monitor->profile) && tcuq_decisions_ok(monitor->profile);
    requires \valid_read(at + (0 .. 13)) && \valid(sound);
    requires \separated(monitor->core, at + (0 .. 13), sound, monitor, monitor->profile);
    assigns *monitor->core, *sound;
    ensures \result == at + 14 && (*sound ==> \old(*sound));
    ensures *sound ==> tcuq_ring_ok(monitor) && tcuq_ledger_ok(monitor) && tcuq_tokens_ok(monitor); */
static const uint8_t *tcuq_get_core(const tcuq_monitor *monitor, const uint8_t *at, bool *sound)
{
    const tcuq_profile *profile = monitor->profile;
    const uint8_t slots = profile->lags[profile->lag_count - 1u];
    tcuq_core *core = monitor->core;
    uint32_t next;
    uint32_t filled;
    at = tcuq_get_signed(at, &core->ledger_q16);
    at = tcuq_get(at, 4u, &core->warmup_left);
    at = tcuq_get(at, 4u, &core->tokens_q16);
    at = tcuq_get(at, 1u, &next);
    at = tcuq_get(at, 1u, &filled);
    const int32_t slack = (int32_t)((uint32_t)profile->step << 16);
    *sound = *sound && (next < slots) && (filled <= slots) &&
             (core->warmup_left <= profile->warmup) && (core->tokens_q16 <= profile->burst_q16) &&
             (core->ledger_q16 >= -slack) &&
             (core->ledger_q16 <= (int32_t)(TCUQ_RISK_LEVELS << 16) + slack);
    core->next = (uint8_t)next;
    core->filled = (uint8_t)filled;
    return at;
}

/* Posteriors, features and smoothed terms of all slots. */
/*@ requires tcuq_past_given(monitor) && tcuq_sizes_ok(monitor->profile) && \valid(sound);
    requires \valid_read(at + (0 .. tcuq_past_bytes(monitor) - 1));
    requires \separated(sound, monitor, monitor->profile, at + (0 .. tcuq_past_bytes(monitor) - 1),
      TCUQ_POSTERIORS, TCUQ_FEATURES, TCUQ_SMOOTHED);
    assigns *TCUQ_POSTERIORS, *TCUQ_FEATURES, *TCUQ_SMOOTHED, *sound;
    ensures \result == at + \old(tcuq_past_bytes(monitor)) && (*sound ==> \old(*sound));
    ensures *sound ==> tcuq_smoothed_ok(monitor); */
static const uint8_t *tcuq_get_past(const tcuq_monitor *monitor, const uint8_t *at, bool *sound)
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
    at += posteriors;
    /*@ loop invariant i <= features;
        loop assigns i, monitor->features[0 .. features - 1];
        loop variant features - i; */
    for (uint32_t i = 0u; i < features; i++) {
        monitor->features[i] = (int8_t)((at[i] < 128u) ? (int16_t)at[i] : (int16_t)at[i] - 256);
    }
    at += features;
    /*@ loop invariant i <= terms && at == \at(at, LoopEntry) + 4 * i;
        loop invariant *sound ==> \at(*sound, Pre);
        loop invariant *sound ==> \forall integer k; 0 <= k < i ==> -0x800000 <= monitor->smoothed_q8[k] < 0x800000;
        loop assigns i, at, monitor->smoothed_q8[0 .. terms - 1], *sound;
        loop variant terms - i; */
    for (uint8_t i = 0u; i < terms; i++) {
        int32_t value;
        at = tcuq_get_signed(at, &value);
        *sound = *sound && (value < (1 << 23)) && (value >= -(1 << 23));
        monitor->smoothed_q8[i] = value;
    }
    return at;
}

/*@ requires \valid_read(channel) && \valid(state) && \valid_read(at + (0 .. 11)) && \valid(sound);
    requires \separated(state, sound, channel) && \separated(state, sound, at + (0 .. 11));
    requires tcuq_channel_ok(channel);
    assigns *state, *sound;
    ensures \result == at + 12 && (*sound ==> \old(*sound) && tcuq_channel_state_ok(channel, state)); */
static const uint8_t *tcuq_get_channel(const tcuq_channel *channel, tcuq_channel_state *state,
                                       const uint8_t *at, bool *sound)
{
    uint32_t taken;
    uint32_t cusum;
    at = tcuq_get_signed(at, &state->sum);
    at = tcuq_get_signed(at, &state->epoch_q8);
    at = tcuq_get(at, 2u, &taken);
    at = tcuq_get(at, 2u, &cusum);
    const int32_t most = (int32_t)((taken < channel->block) ? taken : 0u) * 65536;
    *sound = *sound && (taken < channel->block) && (cusum < channel->limit_q8) &&
             (state->sum <= most) && (state->sum >= -most) &&
             (state->epoch_q8 <= TCUQ_EPOCH_MAX) && (state->epoch_q8 >= -TCUQ_EPOCH_MAX);
    state->taken = (uint16_t)taken;
    state->cusum_q8 = (uint16_t)cusum;
    return at;
}

/*@ requires tcuq_channels_given(monitor) && tcuq_channels_ok(monitor->profile) && \valid(sound);
    requires \valid_read(at + (0 .. 12 * monitor->profile->channel_count - 1));
    requires \separated(monitor->channels + (0 .. monitor->profile->channel_count - 1),
      at + (0 .. 12 * monitor->profile->channel_count - 1), sound);
    requires \separated(sound, monitor, monitor->profile,
      monitor->profile->channels + (0 .. monitor->profile->channel_count - 1));
    assigns TCUQ_CHANNELS, *sound;
    ensures \result == at + 12 * monitor->profile->channel_count && (*sound ==> \old(*sound));
    ensures *sound ==> tcuq_alarm_ok(monitor); */
static const uint8_t *tcuq_get_channels(const tcuq_monitor *monitor, const uint8_t *at, bool *sound)
{
    /*@ loop invariant i <= monitor->profile->channel_count && at == \at(at, Pre) + 12 * i;
        loop invariant *sound ==> \at(*sound, Pre);
        loop invariant *sound ==> \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(monitor->profile->channels + k, monitor->channels + k);
        loop assigns i, at, TCUQ_CHANNELS, *sound;
        loop variant monitor->profile->channel_count - i; */
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        at = tcuq_get_channel(&monitor->profile->channels[i], &monitor->channels[i], at, sound);
    }
    return at;
}

/*@ requires \valid(telemetry) && \valid_read(at + (0 .. 50)) && \valid(sound);
    requires \separated(telemetry, at + (0 .. 50), sound);
    assigns *telemetry, *sound;
    ensures *sound ==> \old(*sound) && telemetry->histogram_shift < 32; */
static void tcuq_get_telemetry(tcuq_telemetry *telemetry, const uint8_t *at, bool *sound)
{
    uint32_t value;
    at = tcuq_get(at, 4u, &telemetry->steps);
    at = tcuq_get(at, 4u, &telemetry->abstained);
    at = tcuq_get(at, 4u, &telemetry->denied);
    at = tcuq_get(at, 4u, &telemetry->exceeded);
    at = tcuq_get(at, 2u, &value);
    telemetry->alarms = (uint16_t)value;
    at = tcuq_get(at, 1u, &value);
    *sound = *sound && (value < 32u);
    telemetry->histogram_shift = (uint8_t)value;
    /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS && at == \at(at, Pre) + 19 + 2 * i;
        loop assigns i, at, value, telemetry->histogram[0 .. TCUQ_HISTOGRAM_BINS - 1];
        loop variant TCUQ_HISTOGRAM_BINS - i; */
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        at = tcuq_get(at, 2u, &value);
        telemetry->histogram[i] = (uint16_t)value;
    }
}

tcuq_status tcuq_restore(const tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size)
{
    const uint32_t whole = tcuq_snapshot_size(monitor);
    uint32_t magic;
    uint32_t hash;
    uint32_t claimed;
    uint32_t crc;
    bool sound = true;
    if ((buffer == NULL) || (size != whole)) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    (void)tcuq_get(&buffer[whole - TCUQ_SNAPSHOT_CRC], 4u, &crc);
    const uint8_t *at = tcuq_get(buffer, 4u, &magic);
    at = tcuq_get(at, 4u, &hash);
    at = tcuq_get(at, 4u, &claimed);
    if ((magic != TCUQ_SNAPSHOT_MAGIC) || (claimed != whole) ||
        (crc != tcuq_crc32(buffer, whole - TCUQ_SNAPSHOT_CRC))) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    if (hash != monitor->profile->hash) {
        return TCUQ_ERROR_FOREIGN;
    }
    at = tcuq_get_core(monitor, at, &sound);
    at = tcuq_get_past(monitor, at, &sound);
    at = tcuq_get_channels(monitor, at, &sound);
    if (monitor->telemetry != NULL) {
        tcuq_get_telemetry(monitor->telemetry, at, &sound);
    }
    if (!sound) {
        tcuq_reset(monitor); /* a true CRC over impossible values: start anew rather than go on */
        return TCUQ_ERROR_SNAPSHOT;
    }
    tcuq_signals_refresh(monitor);
    return TCUQ_OK;
}
