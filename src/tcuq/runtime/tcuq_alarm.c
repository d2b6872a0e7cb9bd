/* SPDX-License-Identifier: Apache-2.0 */
/* Alarm: bets on block sums that learn this device's own stream; says "not the stream known so far".
 *
 * The sums of all channels' bets (tcuq_bets.c) are weighed by block length and added up; one block ends at a step.
 * After a boot, when a shift may be there already, calibration's own bets alarm too. */
#include "tcuq_internal.h"
#ifdef __FRAMAC__
#include "tcuq_acsl_bits.h"
#endif

#if TCUQ_WITH_ALARM

/* Signals that count at every step, and those that count if every lag had a past. */
#define TCUQ_ANY_STEP 0x7Cu
#define TCUQ_WHOLE_PAST 0x83u

/* A statistic of input health explains any alarm if it is so far from calibration: eight standard deviations. */
#define TCUQ_STANDS_OUT (8u << 9)
#define TCUQ_MAX_VOTES 4u
#define TCUQ_CAUSE_HEALTH 5u /* of a record */

bool tcuq_counts_sound(const uint16_t *counts, uint32_t count)
{
    bool sound = true;
    /*@ loop invariant k <= count;
        loop invariant sound ==> tcuq_counts_ok(counts, k);
        loop assigns k, sound;
        loop variant count - k; */
    for (uint32_t k = 0u; k < count; k++) {
        sound = sound && (counts[k] >= 1u) && (counts[k] <= TCUQ_COUNT_MAX);
    }
    return sound;
}

/*@ requires \valid_read(profile) && \valid_read(channel);
    assigns \nothing;
    ensures \result ==> tcuq_channel_ok(channel); */
static bool tcuq_channel_sound(const tcuq_profile *profile, const tcuq_channel *channel)
{
    const bool looks = (channel->signal <= (uint8_t)TCUQ_INSTABILITY) || (channel->signal == (uint8_t)TCUQ_NOVELTY);
    const bool given = (looks && tcuq_signal_given(profile, channel->signal)) ||
                       (channel->signal == (uint8_t)TCUQ_RISK) ||
                       ((channel->signal == (uint8_t)TCUQ_HEALTH) && (profile->health_count != 0u));
    return given && (channel->block >= TCUQ_MIN_BLOCK) && (channel->block <= TCUQ_MAX_BLOCK) &&
           ((channel->block & (channel->block - 1u)) == 0u) && (channel->boot_limit_q8 != 0u) &&
           (channel->boot_limit_q8 <= 32767u) && (channel->centre <= TCUQ_MAX_CENTRE) &&
           (channel->centre >= -TCUQ_MAX_CENTRE) && (channel->edges[0] <= channel->edges[1]) &&
           (channel->edges[1] <= channel->edges[2]) && tcuq_counts_sound(channel->counts, TCUQ_COUNTS);
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

/* What a channel sums: Q15 of the signals that look back, Q10 of the logarithms. */
/*@ requires \valid_read(signals);
    assigns \nothing;
    ensures -32768 <= \result <= 65535; */
static int32_t tcuq_channel_value(const tcuq_signals *signals, uint8_t signal)
{
    if (signal <= (uint8_t)TCUQ_INSTABILITY) {
        return signals->values_q15[signal];
    }
    if (signal == (uint8_t)TCUQ_NOVELTY) {
        return signals->novelty_q10;
    }
    return (signal == (uint8_t)TCUQ_RISK) ? signals->risk_odds_q10 : signals->health_q10;
}

/* The number of edges that a block's sum lies strictly above. The last edge is as far beyond calibration's largest
 * block as that is beyond the first edge. */
/*@ requires \valid_read(channel) && -0x40000000 <= channel->centre <= 0x40000000;
    requires -0x40000000 < sum < 0x40000000;
    assigns \nothing;
    ensures \result <= TCUQ_EDGES + 1; */
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
    if (passed == TCUQ_EDGES) {
        const int64_t largest = channel->edges[TCUQ_EDGES - 1u];
        passed = (uint8_t)(passed + (((height - largest) > (largest - channel->edges[0])) ? 1u : 0u));
    }
    return passed;
}

/* How a block that passed an edge differs from calibration, in 1/8 bit: the logarithms of risk and novelty from
 * their first edge; divergence and instability, which are not negative, from their mean, as a ratio. */
/*@ requires \valid_read(channel) && tcuq_channel_ok(channel);
    requires -0x40000000 < sum < 0x40000000;
    assigns \nothing; */
static int8_t tcuq_block_change(const tcuq_channel *channel, int32_t sum)
{
    int32_t change_q10;
    if (channel->two_sided == 0u) {
        const int32_t block = (int32_t)channel->block;
        //@ assert 8 <= block && -0x20000000 <= sum / block <= 0x20000000;
        //@ assert -0x20000000 <= channel->edges[0] / block <= 0x20000000;
        const int32_t beyond = (sum / block) - (channel->edges[0] / block);
        change_q10 = (beyond < 32767) ? beyond : 32767;
        //@ assert -0x40000000 <= change_q10 <= 32767;
    } else {
        const uint32_t height = (sum > 0) ? (uint32_t)sum : 0u;
        const uint32_t mean = (channel->centre > 0) ? (uint32_t)channel->centre : 0u;
        change_q10 = (int32_t)tcuq_log2_q10(height + 1u) - (int32_t)tcuq_log2_q10(mean + 1u);
        //@ assert -32767 <= change_q10 <= 32767;
    }
    return tcuq_change(change_q10);
}

/* An alarm: evidence starts again, the counts stay. */
/*@ requires tcuq_alarm_given(monitor) && tcuq_alarm_ok(monitor);
    assigns TCUQ_CHANNELS;
    ensures tcuq_alarm_ok(monitor); */
static void tcuq_alarm_rest(const tcuq_monitor *monitor, bool young)
{
    const uint32_t count = monitor->profile->channel_count;
    /*@ loop invariant i <= count && tcuq_alarm_ok(monitor);
        loop assigns i, monitor->channels[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        tcuq_channel_state *state = &monitor->channels[i];
        tcuq_bets_rest(state);
        if (young) {
            state->onset_q8 = TCUQ_LOG_ZERO;
        }
    }
}

uint8_t tcuq_alarm_block(const tcuq_monitor *monitor, uint32_t index, uint32_t passed)
{
    const tcuq_channel *channels = monitor->profile->channels;
    tcuq_channel_state *states = monitor->channels;
    const uint32_t count = monitor->profile->channel_count;
    tcuq_core *core = monitor->core;
    const bool young = core->age <= TCUQ_BOOT_STEPS;
    const uint32_t limit = TCUQ_BETS * monitor->profile->alarm_limit;
    uint32_t left = limit; /* of the evidence that alarms */
    uint32_t most = 0u;
    uint32_t cause = index; /* the channel with the most evidence */
    if ((passed != 0u) && (channels[index].signal != (uint8_t)TCUQ_HEALTH)) {
        states[index].change = tcuq_block_change(&channels[index], states[index].sum);
    }
    states[index].sum = 0;
    tcuq_bets_take(&states[index], passed);
    tcuq_epoch_bet(&states[index], channels[index].gains_q8[(passed < TCUQ_EDGES) ? passed : TCUQ_EDGES]);
    /* Calibration's own bets of this channel alarm. */
    const bool since_boot = young && (states[index].onset_q8 >= (int32_t)channels[index].boot_limit_q8);
    //@ assert tcuq_alarm_ok(monitor);
    /*@ loop invariant i <= count && cause < count && left <= limit;
        loop assigns i, left, most, cause;
        loop variant count - i; */
    for (uint32_t i = 0u; (passed != 0u) && (i < count); i++) {
        const uint32_t evidence = tcuq_channel_evidence(&channels[i], &states[i]);
        left -= (evidence < left) ? evidence : left;
        if (evidence > most) {
            most = evidence;
            cause = i;
        }
    }
    if (left != 0u) {
        if (!since_boot) {
            return ((limit - left) >= ((limit + 63u) >> 6)) ? TCUQ_AMBER : 0u;
        }
        cause = index;
    }
    tcuq_alarm_rest(monitor, young);
    const uint32_t flag = channels[cause].flag;
    core->cause = (uint8_t)(32u - tcuq_leading_zeros(flag | 1u));
    if ((flag == TCUQ_ALARM_HEALTH) || (core->suspect >= TCUQ_STANDS_OUT)) {
        /* What moved the sensor moved the rest. */
        core->cause = (uint8_t)(TCUQ_CAUSE_HEALTH | ((uint32_t)core->suspect << 4));
    }
    return (uint8_t)(flag | TCUQ_AMBER | ((left != 0u) ? TCUQ_ALARM_SINCE_BOOT : 0u));
}

/* Which statistic of input health is mostly the farthest from calibration lately: that of every fourth step votes
 * for itself, and against another. */
void tcuq_alarm_suspect(const tcuq_monitor *monitor, const int16_t *health, uint16_t farthest)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t suspect = monitor->core->suspect;
    const uint32_t which = (uint32_t)farthest & 15u;
    const uint32_t votes = (suspect >> 4) & 15u;
    if ((votes != 0u) && ((suspect & 15u) != which)) {
        monitor->core->suspect = (uint16_t)(suspect - 16u);
    } else {
        const uint32_t vote = (votes < TCUQ_MAX_VOTES) ? (uint32_t)1u : (uint32_t)0u;
        tcuq_channel_state *state = &monitor->channels[profile->channel_count - 1u]; /* of input health */
        monitor->core->suspect = (uint16_t)(((uint32_t)farthest & 0xFF0Fu) | ((votes + vote) << 4));
        state->change = tcuq_change((int32_t)health[which] - (int32_t)profile->health_means[which]);
    }
}

void tcuq_alarm_run(const tcuq_monitor *monitor, tcuq_signals *signals, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    const uint32_t count = profile->channel_count;
    uint32_t ended = count; /* the channel whose block ends */
    uint8_t passed = 0u;    /* the edges that it passed */
    decision->alarm = 0u;
    decision->amber = 0u;
    decision->cause = 0u;
    decision->change = 0;
    if (count == 0u) {
        signals->risk_odds_q10 = 0;
        return;
    }
    signals->risk_odds_q10 = tcuq_risk_odds_q10(decision->risk);
    const uint32_t counted = TCUQ_ANY_STEP | (signals->whole_past ? TCUQ_WHOLE_PAST : 0u) |
                             (signals->health_given ? (1u << TCUQ_HEALTH) : 0u);
    /*@ loop invariant i <= count && (ended < i || ended == count) && passed <= TCUQ_EDGES + 1;
        loop invariant ended < count ==> tcuq_block_ok(monitor->channels + ended);
        loop invariant \forall integer k; 0 <= k < count && k != ended ==>
          tcuq_channel_state_ok(profile->channels + k, monitor->channels + k);
        loop assigns i, ended, passed, monitor->channels[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const tcuq_channel *channel = &profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        //@ assert tcuq_channel_ok(channel) && i != ended;
        //@ assert tcuq_channel_state_ok(channel, state);
        if (((counted >> channel->signal) & 1u) == 0u) {
            continue;
        }
        const int32_t sum = state->sum + tcuq_channel_value(signals, channel->signal);
        const uint32_t steps = state->block_steps_and_memory + 1u;
        //@ assert (state->block_steps_and_memory & 0x3FFF) <= 0x3FFE && state->block_steps_and_memory <= 0xBFFF;
        //@ assert (steps & 0x3FFF) == (state->block_steps_and_memory & 0x3FFF) + 1 <= channel->block && steps < 0xC000;
        //@ assert -65536 * (steps & 0x3FFF) <= sum <= 65536 * (steps & 0x3FFF);
        if ((steps & TCUQ_BLOCK_STEPS_MASK) != channel->block) {
            state->sum = sum;
            state->block_steps_and_memory = (uint16_t)steps;
            //@ assert tcuq_channel_state_ok(channel, state);
        } else if (ended == count) {
            passed = tcuq_edges_passed(channel, sum);
            ended = i;
            state->sum = sum;
            //@ assert tcuq_block_ok(state);
        } else {
            /* One block ends at a step: this channel skips it. */
        }
    }
    if (ended != count) {
        const uint8_t flags = tcuq_alarm_block(monitor, ended, passed);
        decision->alarm = (uint8_t)(flags & ~TCUQ_AMBER);
        decision->amber = (uint8_t)((flags & TCUQ_AMBER) / TCUQ_AMBER);
        if (decision->alarm != 0u) {
            if ((core->cause & 7u) == TCUQ_CAUSE_HEALTH) {
                decision->cause = (uint8_t)((core->cause >> 4) + 1u);
            }
            decision->change = tcuq_last_change(monitor);
        }
    }
    //@ assert monitor->profile == profile && monitor->core == core && monitor->channels == \at(monitor->channels, Pre);
    //@ assert profile->channel_count == \at(monitor->profile->channel_count, Pre) && tcuq_channels_ok(profile);
    //@ assert tcuq_alarm_ok(monitor) && tcuq_epoch_ok(monitor);
    tcuq_epoch_count(monitor, 1u);
}

void tcuq_alarm_forget(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count && tcuq_channels_ok(monitor->profile);
        loop invariant \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(monitor->profile->channels + k, monitor->channels + k);
        loop assigns i, TCUQ_CHANNELS_BEFORE;
        loop variant monitor->profile->channel_count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        const tcuq_channel *channel = &monitor->profile->channels[i];
        tcuq_channel_state *state = &monitor->channels[i];
        state->sum = 0;
        state->block_steps_and_memory = 0u;
        state->change = 0;
        state->onset_q8 = TCUQ_LOG_ZERO;
        tcuq_bets_rest(state);
        //@ assert tcuq_levels_ok(state) && state->sum == 0 && state->block_steps_and_memory == 0;
        /*@ loop invariant k <= TCUQ_LEARNED_COUNTS && tcuq_counts_ok(&state->counts[0], k);
            loop invariant state->block_steps_and_memory == 0 && 1 <= channel->block;
            loop invariant \forall integer j; 0 <= j < i ==>
              tcuq_channel_state_ok(monitor->profile->channels + j, monitor->channels + j);
            loop assigns k, state->counts[0 .. TCUQ_LEARNED_COUNTS - 1];
            loop variant TCUQ_LEARNED_COUNTS - k; */
        for (uint32_t k = 0u; k < TCUQ_LEARNED_COUNTS; k++) {
            state->counts[k] = (k < TCUQ_COUNTS) ? channel->counts[k] : TCUQ_BEYOND_START;
        }
        //@ assert (state->block_steps_and_memory & 0x3FFF) == 0 && tcuq_levels_ok(state) && state->sum == 0;
        //@ assert tcuq_channel_state_ok(channel, state);
    }
}

void tcuq_alarm_reset(const tcuq_monitor *monitor)
{
    tcuq_alarm_forget(monitor);
    tcuq_epoch_start(monitor);
}

#endif
