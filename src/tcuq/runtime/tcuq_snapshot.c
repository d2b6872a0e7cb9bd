/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot: a monitor's state as bytes that survive a power cut, the same on every CPU.
 *
 * Little-endian: "TCUQ", profile hash, size, core, past steps, smoothed terms, channels, telemetry,
 * CRC-32 of all before it. What can be derived from the past steps is derived again. */
#include "tcuq_internal.h"

#define TCUQ_SNAPSHOT_MAGIC 0x51554354u /* "TCUQ" */
#define TCUQ_SNAPSHOT_HEAD 12u
#define TCUQ_SNAPSHOT_CORE 14u
#define TCUQ_SNAPSHOT_CHANNEL 12u
#define TCUQ_SNAPSHOT_TELEMETRY 51u
#define TCUQ_SNAPSHOT_CRC 4u

/* Takes four bits at a time: a sixteenth of the usual table, a quarter of the bitwise time. */
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0u; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ tcuq_crc32_nibble[crc & 15u];
        crc = (crc >> 4) ^ tcuq_crc32_nibble[crc & 15u];
    }
    return ~crc;
}

uint8_t *tcuq_put(uint8_t *at, uint32_t value, uint8_t bytes)
{
    for (uint8_t i = 0u; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8u * i));
    }
    return at + bytes;
}

static const uint8_t *tcuq_get(const uint8_t *at, uint8_t bytes, uint32_t *value)
{
    *value = 0u;
    for (uint8_t i = 0u; i < bytes; i++) {
        *value |= (uint32_t)at[i] << (8u * i);
    }
    return at + bytes;
}

static const uint8_t *tcuq_get_signed(const uint8_t *at, int32_t *value)
{
    uint32_t raw;
    at = tcuq_get(at, 4u, &raw);
    *value = (raw > (uint32_t)INT32_MAX) ? (int32_t)(raw - 0x80000000u) + INT32_MIN : (int32_t)raw;
    return at;
}

uint32_t tcuq_snapshot_size(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    const uint32_t terms = (monitor->smoothed_q8 != NULL) ? profile->term_count : 0u;
    uint32_t size = TCUQ_SNAPSHOT_HEAD + TCUQ_SNAPSHOT_CORE + TCUQ_SNAPSHOT_CRC;
    size += slots * ((uint32_t)profile->classes + profile->dimensions) + 4u * terms;
    size += TCUQ_SNAPSHOT_CHANNEL * (uint32_t)profile->channel_count;
    return size + ((monitor->telemetry != NULL) ? TCUQ_SNAPSHOT_TELEMETRY : 0u);
}

static uint8_t *tcuq_put_channels(const tcuq_monitor *monitor, uint8_t *at)
{
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        const tcuq_channel_state *state = &monitor->channels[i];
        at = tcuq_put(at, (uint32_t)state->sum, 4u);
        at = tcuq_put(at, (uint32_t)state->epoch_q8, 4u);
        at = tcuq_put(at, state->taken, 2u);
        at = tcuq_put(at, state->cusum_q8, 2u);
    }
    return at;
}

static uint8_t *tcuq_put_telemetry(const tcuq_telemetry *telemetry, uint8_t *at)
{
    at = tcuq_put(at, telemetry->steps, 4u);
    at = tcuq_put(at, telemetry->abstained, 4u);
    at = tcuq_put(at, telemetry->denied, 4u);
    at = tcuq_put(at, telemetry->exceeded, 4u);
    at = tcuq_put(at, telemetry->alarms, 2u);
    at = tcuq_put(at, telemetry->histogram_shift, 1u);
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        at = tcuq_put(at, telemetry->histogram[i], 2u);
    }
    return at;
}

tcuq_status tcuq_snapshot(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size)
{
    const tcuq_profile *profile = monitor->profile;
    const tcuq_core *core = monitor->core;
    const uint32_t whole = tcuq_snapshot_size(monitor);
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    if ((buffer == NULL) || (size < whole)) {
        return TCUQ_ERROR_BUFFER;
    }
    uint8_t *at = tcuq_put(buffer, TCUQ_SNAPSHOT_MAGIC, 4u);
    at = tcuq_put(at, profile->hash, 4u);
    at = tcuq_put(at, whole, 4u);
    at = tcuq_put(at, (uint32_t)core->ledger_q16, 4u);
    at = tcuq_put(at, core->warmup_left, 4u);
    at = tcuq_put(at, core->tokens_q16, 4u);
    at = tcuq_put(at, core->next, 1u);
    at = tcuq_put(at, core->filled, 1u);
    for (uint32_t i = 0u; i < slots * profile->classes; i++) {
        at = tcuq_put(at, monitor->posteriors[i], 1u);
    }
    for (uint32_t i = 0u; i < slots * profile->dimensions; i++) {
        at = tcuq_put(at, (uint8_t)monitor->features[i], 1u);
    }
    for (uint8_t i = 0u; (monitor->smoothed_q8 != NULL) && (i < profile->term_count); i++) {
        at = tcuq_put(at, (uint32_t)monitor->smoothed_q8[i], 4u);
    }
    at = tcuq_put_channels(monitor, at);
    if (monitor->telemetry != NULL) {
        at = tcuq_put_telemetry(monitor->telemetry, at);
    }
    (void)tcuq_put(at, tcuq_crc32(buffer, whole - TCUQ_SNAPSHOT_CRC), 4u);
    return TCUQ_OK;
}

/* The state's values must be ones that steps could have left: tcuq_step does not check them again. */
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

static const uint8_t *tcuq_get_channels(const tcuq_monitor *monitor, const uint8_t *at, bool *sound)
{
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        const tcuq_channel *channel = &monitor->profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
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
    }
    return at;
}

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
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        at = tcuq_get(at, 2u, &value);
        telemetry->histogram[i] = (uint16_t)value;
    }
}

tcuq_status tcuq_restore(const tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t whole = tcuq_snapshot_size(monitor);
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
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
    if (hash != profile->hash) {
        return TCUQ_ERROR_FOREIGN;
    }
    at = tcuq_get_core(monitor, at, &sound);
    for (uint32_t i = 0u; i < slots * profile->classes; i++) {
        monitor->posteriors[i] = at[i];
    }
    at += slots * profile->classes;
    for (uint32_t i = 0u; i < slots * profile->dimensions; i++) {
        monitor->features[i] = (int8_t)((at[i] < 128u) ? (int16_t)at[i] : (int16_t)at[i] - 256);
    }
    at += slots * profile->dimensions;
    for (uint8_t i = 0u; (monitor->smoothed_q8 != NULL) && (i < profile->term_count); i++) {
        int32_t value;
        at = tcuq_get_signed(at, &value);
        sound = sound && (value < (1 << 23)) && (value >= -(1 << 23));
        monitor->smoothed_q8[i] = value;
    }
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
