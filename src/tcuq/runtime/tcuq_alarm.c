/* SPDX-License-Identifier: Apache-2.0 */
/* Alarm: bets on block sums that learn this device's own stream; says "not the stream known so far".
 *
 * A bet pays for each edge that a block passes, the more the more seldom such blocks have passed it, in
 * calibration and on this device. Each channel sums its bets over where a change may have begun
 * (Shiryaev-Roberts); the alarm weighs the sums by block length and adds them up. After a boot, when
 * a shift may be there already, calibration's own bets alarm too. */
#include "tcuq_internal.h"

#if TCUQ_WITH_ALARM

/* Of a bet: what is kept, what is staked on each of the first two edges and on the last. */
#define TCUQ_RESERVE_Q16 32768u
#define TCUQ_STAKE_Q16 11141u
#define TCUQ_LAST_STAKE_Q16 10485u

/* Signals that count at every step, and those that count if every lag had a past. */
#define TCUQ_ANY_STEP 0x7Cu
#define TCUQ_WHOLE_PAST 0x83u

bool tcuq_counts_sound(const uint16_t *counts)
{
    bool sound = true;
    /*@ loop invariant k <= TCUQ_COUNTS;
        loop invariant sound ==> \forall integer j; 0 <= j < k ==> 1 <= counts[j] <= TCUQ_COUNT_MAX;
        loop assigns k, sound;
        loop variant TCUQ_COUNTS - k; */
    for (uint32_t k = 0u; k < TCUQ_COUNTS; k++) {
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
           (channel->boot_limit_q8 <= 32767u) && (channel->centre <= TCUQ_MAX_CENTRE) &&
           (channel->centre >= -TCUQ_MAX_CENTRE) && (channel->edges[0] <= channel->edges[1]) &&
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
        loop invariant sound ==> profile->alarm_limit <= TCUQ_MAX_ALARM_LIMIT && 1 <= profile->epoch_steps <= INT32_MAX;
        loop invariant sound ==> \forall integer k; 0 <= k < i ==> tcuq_channel_ok(profile->channels + k);
        loop assigns i, sound;
        loop variant profile->channel_count - i; */
    for (uint32_t i = 0u; sound && (i < profile->channel_count); i++) {
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

/* The values that channels sum, by signal: Q15 of the signals that look back, Q10 of the logarithms. */
/*@ requires \valid_read(signals) && \valid(values + (0 .. TCUQ_HEALTH));
    requires \separated(signals, values + (0 .. TCUQ_HEALTH));
    assigns values[0 .. TCUQ_HEALTH];
    ensures \forall integer k; 0 <= k <= TCUQ_HEALTH ==> -32768 <= values[k] <= 65535; */
static void tcuq_channel_values(const tcuq_signals *signals, int32_t *values)
{
    values[TCUQ_DIVERGENCE] = signals->values_q15[TCUQ_DIVERGENCE];
    values[TCUQ_INSTABILITY] = signals->values_q15[TCUQ_INSTABILITY];
    /*@ loop invariant 2 <= signal <= TCUQ_RISK;
        loop invariant \forall integer k; 0 <= k < signal ==> -32768 <= values[k] <= 65535;
        loop assigns signal, values[2 .. TCUQ_RISK - 1];
        loop variant TCUQ_RISK - signal; */
    for (uint8_t signal = TCUQ_INCONSISTENCY; signal < (uint8_t)TCUQ_RISK; signal++) {
        values[signal] = tcuq_signal_value(signals, signal);
    }
    values[TCUQ_RISK] = signals->risk_odds_q10;
    values[TCUQ_HEALTH] = signals->health_q10;
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

/* What a block pays that passes the first edges, by the counts so far; then the block is counted too, and all
 * counts are halved before one overflows. */
/*@ requires \valid(counts + (0 .. TCUQ_COUNTS - 1)) && tcuq_counts_ok(counts);
    requires passed <= TCUQ_EDGES;
    assigns counts[0 .. TCUQ_COUNTS - 1];
    ensures tcuq_counts_ok(counts);
    ensures TCUQ_RESERVE_Q16 <= \result <= 0x80000000; */
static uint32_t tcuq_bet_q16(uint16_t *counts, bool after, uint32_t passed)
{
    uint16_t *passes = &counts[after ? 1u + TCUQ_EDGES : 1u];
    uint32_t chances = counts[0];
    uint32_t bet = TCUQ_RESERVE_Q16;
    uint32_t most = 0u; /* of the counts that grow */
    if (after) {
        /* Each block that passed is remembered for two more; those that passed while one was remembered add
         * at least one: chances = 2 (passes - 2) + passes after one, where 2 is the counts' start and the latest. */
        chances = (counts[1] > (2u * TCUQ_UNITS_PER_BLOCK)) ? 2u * ((uint32_t)counts[1] - 2u * TCUQ_UNITS_PER_BLOCK) : 0u;
        chances += passes[0];
        chances = (chances > UINT16_MAX) ? UINT16_MAX : chances;
    } else {
        most = chances + TCUQ_UNITS_PER_BLOCK;
        counts[0] = (uint16_t)most;
    }
    /*@ loop invariant j <= passed && most <= 65535;
        loop invariant TCUQ_RESERVE_Q16 <= bet <= TCUQ_RESERVE_Q16 + 730125435 * j;
        loop invariant \forall integer k; 0 <= k < TCUQ_COUNTS ==> 1 <= counts[k] <= 65535;
        loop invariant \forall integer k; 0 <= k < TCUQ_COUNTS ==> counts[k] <= TCUQ_COUNT_MAX || counts[k] <= most;
        loop invariant \forall integer k; j <= k < TCUQ_EDGES ==> passes[k] <= TCUQ_COUNT_MAX;
        loop assigns j, bet, most, passes[0 .. TCUQ_EDGES - 1];
        loop variant passed - j; */
    for (uint32_t j = 0u; j < passed; j++) {
        const uint32_t stake = (j == 2u) ? TCUQ_LAST_STAKE_Q16 : TCUQ_STAKE_Q16;
        const uint32_t count = passes[j] + TCUQ_UNITS_PER_BLOCK;
        //@ assert 0 <= stake * chances <= 730125435;
        bet += (stake * chances) / passes[j];
        passes[j] = (uint16_t)count;
        most = (count > most) ? count : most;
    }
    /*@ loop invariant k <= TCUQ_COUNTS;
        loop invariant \forall integer i; 0 <= i < TCUQ_COUNTS ==> 1 <= counts[i] <= 65535;
        loop invariant most > TCUQ_COUNT_MAX ==> \forall integer i; 0 <= i < k ==> counts[i] <= TCUQ_COUNT_MAX;
        loop invariant most <= TCUQ_COUNT_MAX ==> \forall integer i; 0 <= i < TCUQ_COUNTS ==> counts[i] <= TCUQ_COUNT_MAX;
        loop assigns k, counts[0 .. TCUQ_COUNTS - 1];
        loop variant TCUQ_COUNTS - k; */
    for (uint32_t k = 0u; (most > TCUQ_COUNT_MAX) && (k < TCUQ_COUNTS); k++) {
        counts[k] = (uint16_t)(((uint32_t)counts[k] + 1u) >> 1);
    }
    return (bet > 0x80000000u) ? 0x80000000u : bet;
}

/* Takes a finished block into both kinds of evidence. */
/*@ requires \valid_read(channel) && \valid(state) && \separated(channel, state);
    requires tcuq_channel_ok(channel) && passed <= TCUQ_EDGES && tcuq_block_ok(state, passed);
    assigns *state;
    ensures tcuq_channel_state_ok(channel, state); */
static void tcuq_take_block(const tcuq_channel *channel, tcuq_channel_state *state, uint32_t passed)
{
    const uint32_t memory = (uint32_t)state->block_steps_and_memory >> TCUQ_RECENT_SHIFT;
    const uint32_t stake = state->evidence_q3 + 8u * (uint32_t)channel->block;
    const uint32_t bet_q16 = tcuq_bet_q16(state->counts, memory != 0u, passed);
    if (passed == 0u) {
        state->evidence_q3 = stake >> 1; /* the reserve is a half */
        state->block_steps_and_memory = (memory != 0u) ? (uint16_t)((memory - 1u) << TCUQ_RECENT_SHIFT) : 0u;
    } else {
        //@ assert 0 <= stake * bet_q16 <= 0xFFFFFFFF * 0x80000000;
        const uint64_t evidence = ((uint64_t)stake * bet_q16) >> 16;
        state->evidence_q3 = (evidence < TCUQ_EVIDENCE_MAX) ? (uint32_t)evidence : TCUQ_EVIDENCE_MAX;
        state->block_steps_and_memory = (uint16_t)(TCUQ_RECENT_BLOCKS << TCUQ_RECENT_SHIFT);
    }
    tcuq_epoch_bet(state, channel->gains_q8[passed]);
}

uint8_t tcuq_alarm_blocks(const tcuq_monitor *monitor, const uint8_t *passed)
{
    const tcuq_profile *profile = monitor->profile;
    const tcuq_channel *channels = profile->channels;
    tcuq_channel_state *states = monitor->channels;
    const uint32_t count = profile->channel_count;
    tcuq_core *core = monitor->core;
    const bool young = core->age <= TCUQ_BOOT_STEPS;
    uint32_t left = profile->alarm_limit << 3; /* of the evidence that alarms */
    uint32_t most = 0u;
    uint32_t flag = channels[0].flag; /* of the channel with the most evidence */
    uint32_t since_boot = 0u; /* the flags of a channel that alarms by calibration's own bets */
    /*@ loop invariant i <= count && flag <= 255 && since_boot <= 255;
        loop invariant \forall integer k; 0 <= k < i ==> tcuq_channel_state_ok(channels + k, states + k);
        loop invariant \forall integer k; i <= k < count ==> tcuq_block_ok(states + k, passed[k]) &&
          (passed[k] == TCUQ_UNFINISHED ==> tcuq_channel_state_ok(channels + k, states + k));
        loop assigns i, left, most, flag, since_boot, states[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        if (passed[i] != TCUQ_UNFINISHED) {
            tcuq_take_block(&channels[i], &states[i], passed[i]);
            if (young && (states[i].onset_q8 >= (int32_t)channels[i].boot_limit_q8)) {
                since_boot = TCUQ_ALARM_SINCE_BOOT | channels[i].flag;
            }
        }
        const uint32_t evidence = states[i].evidence_q3;
        left -= (evidence < left) ? evidence : left;
        if (evidence > most) {
            most = evidence;
            flag = channels[i].flag;
        }
    }
    if (left != 0u) {
        if (since_boot == 0u) {
            return 0u;
        }
        flag = since_boot & ~TCUQ_ALARM_SINCE_BOOT;
    }
    /* An alarm: evidence starts again, the counts stay. */
    /*@ loop invariant i <= count && tcuq_alarm_ok(monitor);
        loop assigns i, states[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        states[i].evidence_q3 = 0u;
        if (young) {
            states[i].onset_q8 = TCUQ_LOG_ZERO;
        }
    }
    core->cause = (uint8_t)(32u - tcuq_leading_zeros(flag | 1u));
    if (flag == TCUQ_ALARM_HEALTH) {
        core->cause = (uint8_t)(core->cause | (core->worst_health << 4));
    }
    return (uint8_t)(flag | ((left != 0u) ? since_boot : 0u));
}

void tcuq_alarm_run(const tcuq_monitor *monitor, tcuq_signals *signals, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    uint8_t passed[TCUQ_MAX_CHANNELS];
    int32_t values[TCUQ_HEALTH + 1];
    const uint32_t count = profile->channel_count;
    bool finished = false;
    bool health_block_ended = false; /* a block of health ended */
    decision->alarm = 0u;
    decision->cause = 0u;
    if (count == 0u) {
        signals->risk_odds_q10 = 0;
        return;
    }
    signals->risk_odds_q10 = tcuq_risk_odds_q10(decision->risk);
    tcuq_channel_values(signals, values);
    const uint32_t counted = TCUQ_ANY_STEP | (signals->whole_past ? TCUQ_WHOLE_PAST : 0u) |
                             (signals->health_given ? (1u << TCUQ_HEALTH) : 0u);
    if (signals->health_worst > core->worst_health) {
        core->worst_health = signals->health_worst;
    }
    /*@ loop invariant i <= count;
        loop invariant !finished ==> \forall integer k; 0 <= k < i ==> passed[k] == TCUQ_UNFINISHED;
        loop invariant \forall integer k; 0 <= k < i ==> tcuq_block_ok(monitor->channels + k, passed[k]) &&
          (passed[k] == TCUQ_UNFINISHED ==> tcuq_channel_state_ok(profile->channels + k, monitor->channels + k));
        loop invariant \forall integer k; i <= k < count ==>
          tcuq_channel_state_ok(profile->channels + k, monitor->channels + k);
        loop assigns i, finished, health_block_ended, passed[0 .. TCUQ_MAX_CHANNELS - 1], TCUQ_CHANNELS;
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const tcuq_channel *channel = &profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        passed[i] = TCUQ_UNFINISHED;
        if (((counted >> channel->signal) & 1u) == 0u) {
            continue;
        }
        const int32_t sum = state->sum + values[channel->signal];
        const uint32_t steps = state->block_steps_and_memory + 1u;
        state->sum = sum;
        state->block_steps_and_memory = (uint16_t)steps;
        if ((steps & TCUQ_BLOCK_STEPS_MASK) != channel->block) {
            continue;
        }
        passed[i] = tcuq_edges_passed(channel, sum);
        finished = true;
        state->sum = 0;
        health_block_ended = health_block_ended || (channel->signal == (uint8_t)TCUQ_HEALTH);
    }
    if (health_block_ended) {
        /* Older deviations count half: the alarm may come with another channel's block. */
        core->worst_health = (uint16_t)(((core->worst_health >> 1) & 0xFFF0u) | (core->worst_health & 15u));
    }
    //@ assert monitor->profile == profile && monitor->core == core && monitor->channels == \at(monitor->channels, Pre);
    //@ assert profile->channel_count == \at(monitor->profile->channel_count, Pre) && tcuq_channels_ok(profile);
    if (finished) {
        decision->alarm = tcuq_alarm_blocks(monitor, passed);
        if (decision->alarm != 0u) {
            decision->cause = (uint8_t)(core->cause >> 4);
        }
    }
    //@ assert monitor->profile == profile && monitor->core == core && monitor->channels == \at(monitor->channels, Pre);
    //@ assert profile->channel_count == \at(monitor->profile->channel_count, Pre) && tcuq_channels_ok(profile);
    //@ assert tcuq_alarm_ok(monitor) && tcuq_epoch_ok(monitor);
    tcuq_epoch_count(monitor, 1u);
}

void tcuq_alarm_reset(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count && tcuq_channels_ok(monitor->profile);
        loop invariant \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(monitor->profile->channels + k, monitor->channels + k);
        loop assigns i, TCUQ_CHANNELS;
        loop variant monitor->profile->channel_count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        const tcuq_channel *channel = &monitor->profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        state->sum = 0;
        state->evidence_q3 = 0u;
        state->block_steps_and_memory = 0u;
        /*@ loop invariant k <= TCUQ_COUNTS;
            loop invariant \forall integer j; 0 <= j < k ==> 1 <= state->counts[j] <= TCUQ_COUNT_MAX;
            loop assigns k, state->counts[0 .. TCUQ_COUNTS - 1];
            loop variant TCUQ_COUNTS - k; */
        for (uint32_t k = 0u; k < TCUQ_COUNTS; k++) {
            state->counts[k] = channel->counts[k];
        }
    }
    tcuq_epoch_start(monitor);
}

#endif
