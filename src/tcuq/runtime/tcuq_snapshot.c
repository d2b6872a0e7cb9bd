/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot: a monitor's state as bytes that survive a power cut, the same on every CPU.
 *
 * Little-endian: "TCUQ", profile hash, size and version, core, past steps, smoothed terms, channels, telemetry,
 * CRC-32 of all before it. What can be derived from the past steps is derived again. */
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

uint32_t tcuq_snapshot_size(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    const uint32_t terms = (monitor->smoothed_q8 != NULL) ? profile->term_count : 0u;
    uint32_t size = TCUQ_SNAPSHOT_HEAD + TCUQ_SNAPSHOT_CORE + TCUQ_SNAPSHOT_CRC;
    //@ assert slots * profile->classes == tcuq_cells(tcuq_slots(profile), profile->classes);
    //@ assert slots * profile->dimensions == tcuq_cells(tcuq_slots(profile), profile->dimensions);
    size += slots * profile->classes + slots * profile->dimensions + 4u * terms;
    size += TCUQ_SNAPSHOT_CHANNEL * (uint32_t)profile->channel_count;
    return size + ((monitor->telemetry != NULL) ? TCUQ_SNAPSHOT_COUNTERS + TCUQ_SNAPSHOT_MEANS : 0u);
}

#if TCUQ_STATE_AS_WIRE

void tcuq_put_counters(const tcuq_monitor *monitor, uint8_t *at)
{
    tcuq_place place = {.to = at, .from = NULL};
    tcuq_move_counters(&place, monitor->telemetry);
}

static void tcuq_put_state(const tcuq_monitor *monitor, uint8_t *at)
{
    tcuq_place place = {.to = at, .from = NULL};
    tcuq_move_state(monitor, &place);
}

#else

/*@ requires \valid_read(core) && \valid(at + (0 .. 35)) && \separated(at + (0 .. 35), core);
    assigns at[0 .. 35]; */
static void tcuq_put_core(const tcuq_core *core, uint8_t *at)
{
    tcuq_put_32(at, (uint32_t)core->ledger_q16);
    tcuq_put_32(&at[4], core->age);
    tcuq_put_32(&at[8], core->tokens_q16);
    at[12] = core->next;
    at[13] = core->filled;
    at[14] = (uint8_t)core->last_epoch_evidence;
    at[15] = core->cause;
    tcuq_put_32(&at[16], core->epoch_steps);
    tcuq_put_16(&at[20], core->epoch);
    tcuq_put_16(&at[22], core->suspect);
    tcuq_put_32(&at[24], core->recent_q18);
    tcuq_put_16(&at[28], core->kept[0]);
    tcuq_put_16(&at[30], core->kept[1]);
    tcuq_put_16(&at[32], core->held_q15[0]);
    tcuq_put_16(&at[34], core->held_q15[1]);
}

/*@ requires tcuq_past_given(monitor) && tcuq_sizes_ok(monitor->profile);
    requires \valid(at + (0 .. tcuq_past_bytes(monitor) - 1));
    requires \separated(at + (0 .. tcuq_past_bytes(monitor) - 1), monitor, monitor->profile);
    assigns at[0 .. tcuq_past_bytes(monitor) - 1];
    ensures \result == at + \old(tcuq_past_bytes(monitor)); */
static uint8_t *tcuq_put_past(const tcuq_monitor *monitor, uint8_t *at)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    //@ assert slots * profile->classes == tcuq_cells(tcuq_slots(profile), profile->classes);
    //@ assert slots * profile->dimensions == tcuq_cells(tcuq_slots(profile), profile->dimensions);
    const uint32_t posteriors = slots * profile->classes;
    const uint32_t features = slots * profile->dimensions;
    const uint8_t terms = (monitor->smoothed_q8 != NULL) ? profile->term_count : 0u;
    /*@ loop invariant i <= posteriors;
        loop assigns i, at[0 .. posteriors - 1];
        loop variant posteriors - i; */
    for (uint32_t i = 0u; i < posteriors; i++) {
        at[i] = monitor->posteriors[i];
    }
    at += posteriors;
    /*@ loop invariant i <= features;
        loop assigns i, at[0 .. features - 1];
        loop variant features - i; */
    for (uint32_t i = 0u; i < features; i++) {
        at[i] = (uint8_t)monitor->features[i];
    }
    at += features;
    /*@ loop invariant i <= terms && at == \at(at, LoopEntry) + 4 * i;
        loop assigns i, at, \at(at, Pre)[posteriors + features .. posteriors + features + 4 * terms - 1];
        loop variant terms - i; */
    for (uint8_t i = 0u; i < terms; i++) {
        tcuq_put_32(at, (uint32_t)monitor->smoothed_q8[i]);
        at += 4;
    }
    return at;
}

/*@ requires tcuq_channels_given(monitor);
    requires \valid(at + (0 .. 32 * monitor->profile->channel_count - 1));
    requires \separated(at + (0 .. 32 * monitor->profile->channel_count - 1), monitor, monitor->profile);
    assigns at[0 .. 32 * monitor->profile->channel_count - 1];
    ensures \result == at + \old(32 * monitor->profile->channel_count); */
static uint8_t *tcuq_put_channels(const tcuq_monitor *monitor, uint8_t *at)
{
    const uint8_t count = monitor->profile->channel_count;
    /*@ loop invariant i <= count && at == \at(at, Pre) + 32 * i;
        loop assigns i, at, \at(at, Pre)[0 .. 32 * count - 1];
        loop variant count - i; */
    for (uint8_t i = 0u; i < count; i++) {
        const tcuq_channel_state *state = &monitor->channels[i];
        tcuq_put_32(at, (uint32_t)state->sum);
        tcuq_put_16(&at[4], state->block_steps_and_memory);
        tcuq_put_16(&at[6], (uint16_t)state->onset_q8);
        tcuq_put_16(&at[8], (uint16_t)state->span_q8);
        /*@ loop invariant k <= TCUQ_LEARNED_COUNTS;
            loop assigns k, at[10 .. 27];
            loop variant TCUQ_LEARNED_COUNTS - k; */
        for (uint8_t k = 0u; k < TCUQ_LEARNED_COUNTS; k++) {
            tcuq_put_16(&at[10u + 2u * k], state->counts[k]);
        }
        at[28] = state->levels[0];
        at[29] = state->levels[1];
        at[30] = state->levels[2];
        at[31] = (uint8_t)state->change;
        at += TCUQ_SNAPSHOT_CHANNEL;
    }
    return at;
}

/* Also a part of the record. */
void tcuq_put_counters(const tcuq_monitor *monitor, uint8_t *at)
{
    const tcuq_telemetry *telemetry = monitor->telemetry;
    tcuq_put_32(at, telemetry->steps);
    tcuq_put_32(&at[4], telemetry->abstained);
    tcuq_put_32(&at[8], telemetry->denied);
    tcuq_put_32(&at[12], telemetry->exceeded);
    tcuq_put_16(&at[16], telemetry->alarms);
    at[18] = telemetry->histogram_shift;
    /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS;
        loop assigns i, at[19 .. 50];
        loop variant TCUQ_HISTOGRAM_BINS - i; */
    for (uint32_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        tcuq_put_16(&at[19u + 2u * i], telemetry->histogram[i]);
    }
}

/*@ requires \valid_read(telemetry) && \valid(at + (0 .. 51)) && \separated(at + (0 .. 51), telemetry);
    assigns at[0 .. 51]; */
static void tcuq_put_means(const tcuq_telemetry *telemetry, uint8_t *at)
{
    tcuq_put_16(&at[10], telemetry->last_label);
    /*@ loop invariant i <= TCUQ_EPOCH_MEANS;
        loop assigns i, at[0 .. 9], at[12 .. 51];
        loop variant TCUQ_EPOCH_MEANS - i; */
    for (uint32_t i = 0u; i < TCUQ_EPOCH_MEANS; i++) {
        tcuq_put_16(&at[2u * i], telemetry->means[i]);
        tcuq_put_32(&at[12u + 4u * i], telemetry->sums[i]);
        tcuq_put_32(&at[32u + 4u * i], telemetry->carried[i]);
    }
}

/* Everything between a snapshot's head and its checksum. */
/*@ requires tcuq_held(monitor);
    requires \valid(at + (0 .. tcuq_snapshot_bytes(monitor) - 17));
    requires \separated(at + (0 .. tcuq_snapshot_bytes(monitor) - 17), TCUQ_PROFILE, monitor->core, TCUQ_COUNTERS);
    assigns at[0 .. tcuq_snapshot_bytes(monitor) - 17]; */
static void tcuq_put_state(const tcuq_monitor *monitor, uint8_t *at)
{
    tcuq_put_core(monitor->core, at);
    //@ assert tcuq_sizes_kept{Pre, Here}(monitor->profile);
    at = tcuq_put_past(monitor, &at[TCUQ_SNAPSHOT_CORE]);
    //@ assert tcuq_sizes_kept{Pre, Here}(monitor->profile);
    at = tcuq_put_channels(monitor, at);
    if (monitor->telemetry != NULL) {
        tcuq_put_counters(monitor, at);
        tcuq_put_means(monitor->telemetry, &at[TCUQ_SNAPSHOT_COUNTERS]);
    }
}

#endif

tcuq_status tcuq_snapshot(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size)
{
    const uint32_t whole = tcuq_snapshot_size(monitor);
    if ((buffer == NULL) || (size < whole)) {
        return TCUQ_ERROR_BUFFER;
    }
    //@ assert 52 <= whole <= size;
    //@ assert \separated(buffer + (0 .. 11), TCUQ_PROFILE);
    tcuq_put_32(buffer, TCUQ_SNAPSHOT_MAGIC);
    tcuq_put_32(&buffer[4], monitor->profile->hash);
    tcuq_put_32(&buffer[8], whole | ((uint32_t)TCUQ_SNAPSHOT_VERSION << 24));
    //@ assert tcuq_sizes_kept{Pre, Here}(monitor->profile);
    //@ assert tcuq_given(monitor);
    //@ assert tcuq_limits_ok(monitor->profile);
    //@ assert tcuq_snapshot_bytes(monitor) == whole;
    tcuq_put_state(monitor, &buffer[TCUQ_SNAPSHOT_HEAD]);
    tcuq_put_32(&buffer[whole - TCUQ_SNAPSHOT_CRC], tcuq_crc32(buffer, whole - TCUQ_SNAPSHOT_CRC));
    return TCUQ_OK;
}
