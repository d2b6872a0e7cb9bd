/* SPDX-License-Identifier: Apache-2.0 */
/* Alarm: bets on block sums that learn this device's own stream; says "not the stream known so far".
 *
 * A bet pays for each edge that a block passes, the more the more seldom such blocks have passed it, in
 * calibration and on this device. Each channel sums its bets over where a change may have begun
 * (Shiryaev-Roberts); the alarm weighs the sums by block length and adds them up. After a boot, when
 * a shift may be there already, calibration's own bets alarm too. */
#include "tcuq_internal.h"

#if TCUQ_WITH_ALARM

static const uint16_t tcuq_stakes_q16[TCUQ_EDGES] = {11141u, 11141u, 10485u};

#define TCUQ_RESERVE_Q16 32768u

bool tcuq_counts_sound(const uint16_t *counts)
{
    bool sound = true;
    /*@ loop invariant k <= TCUQ_COUNTS;
        loop invariant sound ==> \forall integer j; 0 <= j < k ==> 1 <= counts[j] <= TCUQ_COUNT_MAX;
        loop assigns k, sound;
        loop variant TCUQ_COUNTS - k; */
    for (uint8_t k = 0u; k < TCUQ_COUNTS; k++) {
        sound = sound && (counts[k] >= 1u) && (counts[k] <= TCUQ_COUNT_MAX);
    }
    return sound;
}

/*@ requires \valid_read(profile) && \valid_read(channel);
    assigns \nothing;
    ensures \result ==> tcuq_channel_ok(channel); */
static bool tcuq_channel_sound(const tcuq_profile *profile, const tcuq_channel *channel)
{
    const bool given = tcuq_signal_given(profile, channel->signal) ||
                       (channel->signal == (uint8_t)TCUQ_RISK) ||
                       ((channel->signal == (uint8_t)TCUQ_HEALTH) && (profile->health_count != 0u));
    return given && (channel->block >= 16u) && (channel->block <= TCUQ_MAX_BLOCK) &&
           ((channel->block & (channel->block - 1u)) == 0u) && (channel->boot_limit_q8 != 0u) &&
           (channel->boot_limit_q8 <= 32767u) && (channel->centre <= (1 << 30)) &&
           (channel->centre >= -(1 << 30)) && (channel->edges[0] <= channel->edges[1]) &&
           (channel->edges[1] <= channel->edges[2]) && tcuq_counts_sound(channel->counts);
}

bool tcuq_alarm_sound(const tcuq_profile *profile)
{
    if (profile->channels == NULL) {
        return profile->channel_count == 0u;
    }
    bool sound = (profile->channel_count >= 1u) && (profile->channel_count <= TCUQ_MAX_CHANNELS) &&
                 (profile->alarm_limit >= 1u) && (profile->alarm_limit <= TCUQ_MAX_ALARM_LIMIT) &&
                 (profile->epoch_steps >= 1u) && (profile->epoch_steps <= (uint32_t)INT32_MAX);
    /*@ loop invariant i <= profile->channel_count && (sound ==> 1 <= profile->channel_count <= TCUQ_MAX_CHANNELS);
        loop invariant sound ==> \forall integer k; 0 <= k < i ==> tcuq_channel_ok(profile->channels + k);
        loop assigns i, sound;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 0u; sound && (i < profile->channel_count); i++) {
        sound = tcuq_channel_sound(profile, &profile->channels[i]);
    }
    return sound;
}

/* (risk level, Q10) log2 of risk / (1 - risk), half a level from 0 and 1. */
int16_t tcuq_risk_odds_q10(uint16_t risk)
{
    const uint32_t level = (risk < TCUQ_RISK_LEVELS) ? risk : TCUQ_RISK_LEVELS;
    return (int16_t)((int32_t)tcuq_log2_q10(2u * level + 1u) -
                     (int32_t)tcuq_log2_q10(2u * (TCUQ_RISK_LEVELS - level) + 1u));
}

/* The value a channel sums: Q15 of the signals that look back, Q10 of the logarithms. False: this step
 * does not count, because it lacks its past or its health. */
/*@ requires \valid_read(signals) && \valid(value) && \separated(signals, value);
    assigns *value;
    ensures -32768 <= *value <= 65535; */
static bool tcuq_channel_value(const tcuq_signals *signals, uint16_t risk, uint8_t signal, int32_t *value)
{
    switch (signal) {
    case TCUQ_RISK:
        *value = tcuq_risk_odds_q10(risk);
        return signals->whole_past;
    case TCUQ_HEALTH:
        *value = signals->health_q10;
        return signals->health_given;
    case TCUQ_DIVERGENCE:
    case TCUQ_INSTABILITY:
        *value = signals->values_q15[signal];
        return signals->whole_past;
    default:
        *value = tcuq_signal_value(signals, signal);
        return true;
    }
}

/* The number of edges that a block's sum lies strictly above. */
/*@ requires \valid_read(channel) && -0x40000000 <= channel->centre <= 0x40000000;
    requires -0x40000000 < sum < 0x40000000;
    assigns \nothing;
    ensures \result <= TCUQ_EDGES; */
static uint8_t tcuq_edges_passed(const tcuq_channel *channel, int32_t sum)
{
    int32_t height = sum;
    uint8_t passed = 0u;
    if (channel->two_sided != 0u) {
        height = (sum >= channel->centre) ? sum - channel->centre : channel->centre - sum;
    }
    /*@ loop invariant passed <= TCUQ_EDGES;
        loop assigns passed;
        loop variant TCUQ_EDGES - passed; */
    while ((passed < TCUQ_EDGES) && (height > channel->edges[passed])) {
        passed++;
    }
    return passed;
}

/* One step into a channel's block; the edges passed if it ends the block. */
/*@ requires \valid_read(channel) && \valid(state) && \separated(channel, state);
    requires tcuq_channel_ok(channel) && tcuq_channel_state_ok(channel, state) && -32768 <= value <= 65535;
    assigns state->sum, state->taken;
    ensures tcuq_channel_state_ok(channel, state);
    ensures \result <= TCUQ_EDGES || \result == TCUQ_UNFINISHED; */
static uint8_t tcuq_channel_step(const tcuq_channel *channel, tcuq_channel_state *state, int32_t value)
{
    state->sum += value;
    state->taken++;
    if ((state->taken & (TCUQ_PASSED - 1u)) != channel->block) {
        return TCUQ_UNFINISHED;
    }
    const uint8_t passed = tcuq_edges_passed(channel, state->sum);
    state->sum = 0;
    state->taken = (uint16_t)(state->taken & TCUQ_PASSED);
    return passed;
}

/* What a block pays that passes the first edges, by the counts so far. */
/*@ requires \valid_read(counts + (0 .. TCUQ_COUNTS - 1)) && tcuq_counts_ok(counts);
    requires passed <= TCUQ_EDGES;
    assigns \nothing;
    ensures TCUQ_RESERVE_Q16 <= \result <= 0x80000000; */
static uint32_t tcuq_bet_q16(const uint16_t *counts, bool after, uint8_t passed)
{
    const uint16_t *passes = after ? &counts[1u + TCUQ_EDGES] : &counts[1];
    uint32_t chances = counts[0];
    if (after) {
        /* As many blocks came after one that passed as have passed; less two, of calibration's start
         * and of the one just before. */
        chances = (counts[1] > (2u * TCUQ_COUNT)) ? counts[1] - 2u * TCUQ_COUNT : 0u;
        chances += passes[0];
        chances = (chances > UINT16_MAX) ? UINT16_MAX : chances;
    }
    uint32_t bet = TCUQ_RESERVE_Q16;
    /*@ loop invariant j <= passed;
        loop invariant TCUQ_RESERVE_Q16 <= bet <= TCUQ_RESERVE_Q16 + 11141 * 65535 * j;
        loop assigns j, bet;
        loop variant passed - j; */
    for (uint8_t j = 0u; j < passed; j++) {
        bet += (tcuq_stakes_q16[j] * chances) / passes[j];
    }
    return (bet > 0x80000000u) ? 0x80000000u : bet;
}

/* Counts a block, and halves all counts before one overflows. */
/*@ requires \valid(counts + (0 .. TCUQ_COUNTS - 1)) && tcuq_counts_ok(counts);
    requires passed <= TCUQ_EDGES;
    assigns counts[0 .. TCUQ_COUNTS - 1];
    ensures tcuq_counts_ok(counts); */
static void tcuq_learn(uint16_t *counts, bool after, uint8_t passed)
{
    const uint8_t first = after ? (uint8_t)(1u + TCUQ_EDGES) : 0u;
    const uint8_t end = (uint8_t)((after ? first : 1u) + passed);
    bool full = false;
    /*@ loop invariant first <= k <= end <= TCUQ_COUNTS;
        loop assigns k, full, counts[first .. end - 1];
        loop variant end - k; */
    for (uint8_t k = first; k < end; k++) {
        counts[k] = (uint16_t)(counts[k] + TCUQ_COUNT);
        full = full || (counts[k] > TCUQ_COUNT_MAX);
    }
    /*@ loop invariant k <= TCUQ_COUNTS;
        loop assigns k, counts[0 .. TCUQ_COUNTS - 1];
        loop variant TCUQ_COUNTS - k; */
    for (uint8_t k = 0u; full && (k < TCUQ_COUNTS); k++) {
        counts[k] = (uint16_t)((counts[k] + 1u) >> 1);
    }
}

/* Takes a finished block into both kinds of evidence. */
/*@ requires \valid_read(channel) && \valid(state) && \separated(channel, state);
    requires tcuq_channel_ok(channel) && tcuq_channel_state_ok(channel, state) && passed <= TCUQ_EDGES;
    assigns *state;
    ensures tcuq_channel_state_ok(channel, state); */
static void tcuq_take_block(const tcuq_channel *channel, tcuq_channel_state *state, uint8_t passed)
{
    const bool after = (state->taken & TCUQ_PASSED) != 0u;
    const uint32_t stake = state->evidence_q4 + 16u * (uint32_t)channel->block;
    const uint64_t evidence = ((uint64_t)stake * tcuq_bet_q16(state->counts, after, passed)) >> 16;
    state->evidence_q4 = (evidence < TCUQ_EVIDENCE_MAX) ? (uint32_t)evidence : TCUQ_EVIDENCE_MAX;
    tcuq_learn(state->counts, after, passed);
    state->taken = (uint16_t)((state->taken & (TCUQ_PASSED - 1u)) | ((passed != 0u) ? TCUQ_PASSED : 0u));
    tcuq_epoch_bet(state, channel->gains_q8[passed]);
}

/* An alarm: evidence starts again, the counts stay. */
/*@ requires tcuq_alarm_ok(monitor) && at < monitor->profile->channel_count;
    assigns *monitor->core, TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor); */
static void tcuq_raise(const tcuq_monitor *monitor, uint8_t at)
{
    tcuq_core *core = monitor->core;
    const uint8_t flag = monitor->profile->channels[at].flag;
    uint8_t number = 1u;
    while ((number < TCUQ_MAX_CHANNELS) && ((flag >> number) != 0u)) {
        number++;
    }
    core->cause = (uint8_t)(number | ((flag == TCUQ_ALARM_HEALTH) ? (core->worst & 15u) << 4 : 0u));
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        monitor->channels[i].evidence_q4 = 0u;
        if (core->age <= TCUQ_BOOT_STEPS) {
            monitor->channels[i].onset_q8 = TCUQ_LOG_ZERO;
        }
    }
}

uint8_t tcuq_alarm_blocks(const tcuq_monitor *monitor, const uint8_t *passed)
{
    const tcuq_profile *profile = monitor->profile;
    uint32_t left = profile->alarm_limit << 4; /* of the evidence that alarms */
    uint32_t most = 0u;
    uint8_t largest = 0u;
    uint8_t flags = 0u;
    /*@ loop invariant i <= profile->channel_count && tcuq_alarm_ok(monitor);
        loop invariant largest < profile->channel_count;
        loop assigns i, left, most, largest, flags, TCUQ_CHANNELS;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 0u; i < profile->channel_count; i++) {
        const tcuq_channel *channel = &profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        if (passed[i] != TCUQ_UNFINISHED) {
            tcuq_take_block(channel, state, passed[i]);
            if ((monitor->core->age <= TCUQ_BOOT_STEPS) &&
                (state->onset_q8 >= (int32_t)channel->boot_limit_q8)) {
                flags = TCUQ_ALARM_SINCE_BOOT;
            }
        }
        left -= (state->evidence_q4 < left) ? state->evidence_q4 : left;
        if (state->evidence_q4 > most) {
            most = state->evidence_q4;
            largest = i;
        }
    }
    if (left == 0u) {
        flags = 0u; /* not since boot alone */
    } else if (flags == 0u) {
        return 0u;
    }
    tcuq_raise(monitor, largest);
    return (uint8_t)(flags | profile->channels[largest].flag);
}

void tcuq_alarm_run(const tcuq_monitor *monitor, const tcuq_signals *signals, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    uint8_t passed[TCUQ_MAX_CHANNELS];
    bool finished = false;
    bool healthy = false; /* a block of health ended */
    decision->alarm = 0u;
    decision->cause = 0u;
    if (profile->channel_count == 0u) {
        return;
    }
    if (signals->health_given && (signals->health_worst > core->worst)) {
        core->worst = signals->health_worst;
    }
    /*@ loop invariant i <= profile->channel_count && tcuq_alarm_ok(monitor);
        loop invariant \forall integer k; 0 <= k < i ==> passed[k] <= TCUQ_EDGES || passed[k] == TCUQ_UNFINISHED;
        loop assigns i, finished, healthy, passed[0 .. TCUQ_MAX_CHANNELS - 1], TCUQ_CHANNELS;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 0u; i < profile->channel_count; i++) {
        const tcuq_channel *channel = &profile->channels[i];
        int32_t value;
        passed[i] = TCUQ_UNFINISHED;
        if (tcuq_channel_value(signals, decision->risk, channel->signal, &value)) {
            passed[i] = tcuq_channel_step(channel, &monitor->channels[i], value);
        }
        if (passed[i] != TCUQ_UNFINISHED) {
            finished = true;
            healthy = healthy || (channel->signal == (uint8_t)TCUQ_HEALTH);
        }
    }
    if (finished) {
        decision->alarm = tcuq_alarm_blocks(monitor, passed);
        decision->cause = (decision->alarm != 0u) ? (uint8_t)(core->cause >> 4) : 0u;
    }
    if (healthy) {
        /* Older deviations count half: the alarm may come with another channel's block. */
        core->worst = (uint16_t)(((core->worst >> 1) & 0xFFF0u) | (core->worst & 15u));
    }
    tcuq_epoch_count(monitor, 1u);
}

void tcuq_alarm_reset(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop invariant \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(monitor->profile->channels + k, monitor->channels + k);
        loop assigns i, TCUQ_CHANNELS;
        loop variant monitor->profile->channel_count - i; */
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        const tcuq_channel *channel = &monitor->profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        state->sum = 0;
        state->evidence_q4 = 0u;
        state->taken = 0u;
        for (uint8_t k = 0u; k < TCUQ_COUNTS; k++) {
            state->counts[k] = channel->counts[k];
        }
    }
    tcuq_epoch_start(monitor);
}

#endif
