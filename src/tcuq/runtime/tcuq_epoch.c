/* SPDX-License-Identifier: Apache-2.0 */
/* Epoch: a number of steps, counted and closed here, and its e-value against calibration.
 *
 * A channel's bets are multiplied from every block on: summed over where drift began (onset), and over
 * where it began and ended (span). Their means are e-values, whenever drift comes. docs/spec/arithmetic.md */
#include "tcuq_internal.h"

#if !TCUQ_WITH_ALARM

int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor)
{
    (void)monitor;
    return 0;
}

#else

#define TCUQ_LOG_ADD_POINTS 64u /* of the table, 1/8 apart; beyond them nothing is added */

/* 256 · log2 of the number of channels, rounded up. */
static const int16_t tcuq_channels_q8[TCUQ_MAX_CHANNELS + 1u] = {0, 0, 256, 406, 512, 595};

/* log2(2^left + 2^right) in 1/256, rounded down. */
/*@ requires -0x100000 <= left <= 0x100000 && -0x100000 <= right <= 0x100000;
    assigns \nothing;
    ensures left <= \result && right <= \result && (\result <= left + 256 || \result <= right + 256); */
static int32_t tcuq_log_add(int32_t left, int32_t right)
{
    const int32_t high = (left > right) ? left : right;
    const uint32_t apart = (uint32_t)(high - ((left > right) ? right : left));
    const uint32_t index = apart >> 5;
    if (index >= TCUQ_LOG_ADD_POINTS) {
        return high;
    }
    const uint32_t above = tcuq_log_add_q8[index];
    const uint32_t below = tcuq_log_add_q8[index + 1u];
    //@ assert above <= 255 && below <= 255;
    //@ assert below <= above;
    return high + (int32_t)(above - (((above - below) * (apart & 31u) + 31u) >> 5));
}

/* 256 · log2, rounded up. */
/*@ requires value >= 1;
    assigns \nothing;
    ensures 0 <= \result <= 16385; */
static int32_t tcuq_log2_up_q8(uint32_t value)
{
    return (int32_t)(((uint32_t)tcuq_log2_q10(value) + 5u) >> 2);
}

void tcuq_epoch_bet(tcuq_channel_state *state, int32_t gain_q8)
{
    const int32_t onset = tcuq_saturate_16(tcuq_log_add(state->onset_q8, 0) + gain_q8);
    state->onset_q8 = (int16_t)onset;
    state->span_q8 = (int16_t)tcuq_saturate_16(tcuq_log_add(state->span_q8, onset));
}

int16_t tcuq_epoch_evidence(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t steps = monitor->core->epoch_steps;
    if (profile->channel_count == 0u) {
        return 0;
    }
    int32_t total = 2 * (int32_t)TCUQ_LOG_ZERO;
    /*@ loop invariant i <= profile->channel_count;
        loop invariant 2 * TCUQ_LOG_ZERO <= total <= 0x8000 + 512 + 256 * i;
        loop assigns i, total;
        loop variant profile->channel_count - i; */
    for (uint32_t i = 0u; i < profile->channel_count; i++) {
        const tcuq_channel_state *state = &monitor->channels[i];
        const uint32_t blocks = steps / profile->channels[i].block + 1u;
        const int32_t places = tcuq_log2_up_q8(blocks);
        const int32_t lasts = (int32_t)state->onset_q8 - places - 256;
        const int32_t ended = (int32_t)state->span_q8 - places - tcuq_log2_up_q8(blocks + 1u);
        total = tcuq_log_add(total, tcuq_log_add(lasts, ended));
    }
    return (int16_t)tcuq_saturate_16(total - tcuq_channels_q8[profile->channel_count]);
}

void tcuq_epoch_start(const tcuq_monitor *monitor)
{
    monitor->core->epoch_steps = 0u;
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop invariant tcuq_alarm_ok{Pre}(monitor) ==> tcuq_alarm_ok(monitor);
        loop assigns i, TCUQ_CHANNELS_BEFORE;
        loop variant monitor->profile->channel_count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        monitor->channels[i].onset_q8 = TCUQ_LOG_ZERO;
        monitor->channels[i].span_q8 = TCUQ_LOG_ZERO;
    }
}

void tcuq_epoch_count(const tcuq_monitor *monitor, uint32_t steps)
{
    tcuq_core *core = monitor->core;
    const uint32_t left = monitor->profile->epoch_steps - core->epoch_steps;
    if (steps < left) {
        core->epoch_steps += steps;
        return;
    }
    core->epoch_steps = monitor->profile->epoch_steps;
    core->last_epoch_evidence = tcuq_half_bits(tcuq_epoch_evidence(monitor));
    core->epoch = (core->epoch == UINT16_MAX) ? 1u : (uint16_t)(core->epoch + 1u);
    tcuq_epoch_start(monitor);
}

#endif
