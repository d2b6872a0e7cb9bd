/* SPDX-License-Identifier: Apache-2.0 */
/* Alarm: bets on block sums, summed in a CUSUM; says "not the stream you calibrated on". */
#include "tcuq_internal.h"

#if !TCUQ_WITH_ALARM

void tcuq_end_epoch(const tcuq_monitor *monitor)
{
    (void)monitor;
}

int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor)
{
    (void)monitor;
    return 0;
}

#else

/* 256 · log2 of the number of channels, rounded up. */
static const int16_t tcuq_channels_q8[TCUQ_MAX_CHANNELS + 1u] = {0, 0, 256, 406, 512};

/*@ requires \valid_read(profile) && \valid_read(channel);
    assigns \nothing;
    ensures \result ==> tcuq_channel_ok(channel); */
static bool tcuq_channel_sound(const tcuq_profile *profile, const tcuq_channel *channel)
{
    if (!tcuq_signal_given(profile, channel->signal) || (channel->block < 16u) ||
        (channel->block > TCUQ_MAX_BLOCK) || ((channel->block & (channel->block - 1u)) != 0u) ||
        (channel->limit_q8 == 0u) || (channel->limit_q8 > 32767u) ||
        (channel->centre > (1 << 30)) || (channel->centre < -(1 << 30))) {
        return false;
    }
    return (channel->edges[0] <= channel->edges[1]) && (channel->edges[1] <= channel->edges[2]);
}

bool tcuq_alarm_sound(const tcuq_profile *profile)
{
    if (profile->channels == NULL) {
        return profile->channel_count == 0u;
    }
    bool sound = (profile->channel_count >= 1u) && (profile->channel_count <= TCUQ_MAX_CHANNELS);
    /*@ loop invariant i <= profile->channel_count && (sound ==> 1 <= profile->channel_count <= TCUQ_MAX_CHANNELS);
        loop invariant sound ==> \forall integer k; 0 <= k < i ==> tcuq_channel_ok(profile->channels + k);
        loop assigns i, sound;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 0u; sound && (i < profile->channel_count); i++) {
        sound = tcuq_channel_sound(profile, &profile->channels[i]);
    }
    return sound;
}

/* The value a channel sums: Q15 of the signals that look back, Q10 of the logarithms. */
/*@ requires \valid_read(signals) && \valid(value) && \separated(signals, value);
    assigns *value;
    ensures -32768 <= *value <= 65535; */
static bool tcuq_channel_value(const tcuq_signals *signals, uint8_t signal, int32_t *value)
{
    if ((signal == (uint8_t)TCUQ_DIVERGENCE) || (signal == (uint8_t)TCUQ_INSTABILITY)) {
        *value = signals->values_q15[signal];
        return signals->whole_past;
    }
    *value = tcuq_signal_value(signals, signal);
    return true;
}

/* The gain of a finished block, by the number of edges its sum lies strictly above. */
/*@ requires \valid_read(channel) && -0x40000000 <= channel->centre <= 0x40000000;
    requires -0x40000000 < sum < 0x40000000;
    assigns \nothing;
    ensures -32768 <= \result <= 32767; */
static int32_t tcuq_gain_q8(const tcuq_channel *channel, int32_t sum)
{
    int32_t height = sum;
    uint8_t passed = 0u;
    if (channel->two_sided != 0u) {
        height = (sum >= channel->centre) ? sum - channel->centre : channel->centre - sum;
    }
    /*@ loop invariant passed <= 3;
        loop assigns passed;
        loop variant 3 - passed; */
    while ((passed < 3u) && (height > channel->edges[passed])) {
        passed++;
    }
    return channel->gains_q8[passed];
}

/* Takes one finished block into the evidence; true if the channel alarms. */
/*@ requires \valid_read(channel) && \valid(state) && \separated(channel, state);
    requires tcuq_channel_ok(channel) && state->cusum_q8 < channel->limit_q8;
    requires -0x40000000 < state->sum < 0x40000000;
    requires -TCUQ_EPOCH_MAX <= state->epoch_q8 <= TCUQ_EPOCH_MAX;
    assigns *state;
    ensures tcuq_channel_state_ok(channel, state) && state->taken == 0; */
static bool tcuq_take_block(const tcuq_channel *channel, tcuq_channel_state *state)
{
    const int32_t gain = tcuq_gain_q8(channel, state->sum);
    const int32_t evidence = (int32_t)state->cusum_q8 + gain;
    const int32_t epoch = state->epoch_q8 + gain;
    bool alarm = false;
    state->sum = 0;
    state->taken = 0u;
    if ((epoch <= TCUQ_EPOCH_MAX) && (epoch >= -TCUQ_EPOCH_MAX)) {
        state->epoch_q8 = epoch;
    }
    if (evidence >= (int32_t)channel->limit_q8) {
        state->cusum_q8 = 0u;
        alarm = true;
    } else {
        state->cusum_q8 = (uint16_t)((evidence > 0) ? evidence : 0);
    }
    return alarm;
}

/* One step into a channel's block; true if it ends the block and the channel alarms. */
/*@ requires \valid_read(channel) && \valid(state) && \valid_read(signals);
    requires \separated(channel, state) && \separated(signals, state);
    requires tcuq_channel_ok(channel) && tcuq_channel_state_ok(channel, state);
    assigns *state;
    ensures tcuq_channel_state_ok(channel, state); */
static bool tcuq_channel_run(const tcuq_channel *channel, tcuq_channel_state *state,
                             const tcuq_signals *signals)
{
    int32_t value;
    if (!tcuq_channel_value(signals, channel->signal, &value)) {
        return false;
    }
    state->sum += value;
    state->taken++;
    return (state->taken == channel->block) && tcuq_take_block(channel, state);
}

uint8_t tcuq_alarm_run(const tcuq_monitor *monitor, const tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    uint8_t flags = 0u;
    /*@ loop invariant i <= profile->channel_count;
        loop invariant tcuq_alarm_ok(monitor);
        loop assigns i, flags, TCUQ_CHANNELS;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 0u; i < profile->channel_count; i++) {
        const tcuq_channel *channel = &profile->channels[i];
        if (tcuq_channel_run(channel, &monitor->channels[i], signals)) {
            flags = (uint8_t)(flags | channel->flag);
        }
    }
    return flags;
}

void tcuq_end_epoch(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop invariant \forall integer k; 0 <= k < i ==> monitor->channels[k].epoch_q8 == 0;
        loop assigns i, TCUQ_CHANNELS.epoch_q8;
        loop variant monitor->profile->channel_count - i; */
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        monitor->channels[i].epoch_q8 = 0;
    }
}

int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    if (profile->channel_count == 0u) {
        return 0;
    }
    int32_t best = monitor->channels[0].epoch_q8;
    /*@ loop invariant 1 <= i <= profile->channel_count && -TCUQ_EPOCH_MAX <= best <= TCUQ_EPOCH_MAX;
        loop assigns i, best;
        loop variant profile->channel_count - i; */
    for (uint8_t i = 1u; i < profile->channel_count; i++) {
        const int32_t evidence = monitor->channels[i].epoch_q8;
        best = (evidence > best) ? evidence : best;
    }
    /* A mean of K e-values is at least their maximum over K: the best channel pays log2 K. */
    best -= tcuq_channels_q8[profile->channel_count];
    return (int16_t)((best > INT16_MAX) ? INT16_MAX : ((best < INT16_MIN) ? INT16_MIN : best));
}

void tcuq_alarm_reset_history(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop invariant \forall integer k; 0 <= k < i ==>
          monitor->channels[k].sum == 0 && monitor->channels[k].taken == 0;
        loop assigns i, TCUQ_CHANNELS.sum,
                     TCUQ_CHANNELS.taken;
        loop variant monitor->profile->channel_count - i; */
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        monitor->channels[i].sum = 0;
        monitor->channels[i].taken = 0u;
    }
}

void tcuq_alarm_reset(const tcuq_monitor *monitor)
{
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop invariant \forall integer k; 0 <= k < i ==>
          tcuq_channel_state_ok(monitor->profile->channels + k, monitor->channels + k);
        loop assigns i, TCUQ_CHANNELS;
        loop variant monitor->profile->channel_count - i; */
    for (uint8_t i = 0u; i < monitor->profile->channel_count; i++) {
        tcuq_channel_state *state = &monitor->channels[i];
        state->sum = 0;
        state->epoch_q8 = 0;
        state->taken = 0u;
        state->cusum_q8 = 0u;
    }
}

#endif
