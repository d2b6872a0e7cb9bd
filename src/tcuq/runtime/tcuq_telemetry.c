/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry: cumulative counters and a risk histogram, counted every step, and means over an epoch. */
#include "tcuq_internal.h"

#if TCUQ_WITH_TELEMETRY

/* Halves all bins when one is full: the histogram keeps its shape, counts are in 2^shift. */
/*@ requires \valid(telemetry) && telemetry->histogram_shift < 32;
    assigns telemetry->histogram[0 .. TCUQ_HISTOGRAM_BINS - 1], telemetry->histogram_shift;
    ensures telemetry->histogram_shift < 32; */
static void tcuq_histogram_count(tcuq_telemetry *telemetry, uint16_t risk)
{
    const uint16_t bin = (uint16_t)(risk >> 10);
    const uint16_t at = (bin < TCUQ_HISTOGRAM_BINS) ? bin : (uint16_t)(TCUQ_HISTOGRAM_BINS - 1u);
    const uint32_t every = (uint32_t)1u << (telemetry->histogram_shift & 31u);
    if ((telemetry->steps & (every - 1u)) != 0u) {
        return;
    }
    if (telemetry->histogram[at] != UINT16_MAX) {
        telemetry->histogram[at]++;
    }
    if ((telemetry->histogram[at] == UINT16_MAX) && (telemetry->histogram_shift < 31u)) {
        /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS;
            loop assigns i, telemetry->histogram[0 .. TCUQ_HISTOGRAM_BINS - 1];
            loop variant TCUQ_HISTOGRAM_BINS - i; */
        for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
            telemetry->histogram[i] = (uint16_t)(telemetry->histogram[i] >> 1);
        }
        telemetry->histogram_shift++;
    }
}

#if TCUQ_WITH_ALARM

#define TCUQ_CARRY_STEPS 8192u /* in so many, no sum grows by 2^31: a value is at most 163840 */

/* The mean over so many steps, rounded down, at most 32767; by hand, because a division of 64 bits is a call. */
/*@ requires \valid_read(telemetry) && which < TCUQ_EPOCH_MEANS;
    assigns \nothing;
    ensures \result <= 32767; */
static uint16_t tcuq_mean_of(const tcuq_telemetry *telemetry, uint32_t which, uint32_t steps)
{
    uint64_t rest = (uint64_t)telemetry->carried[which] * 65536u + telemetry->sums[which];
    uint32_t mean = 0u;
    /*@ loop invariant weight <= 16384 && mean + 2 * weight <= 32768 && mean <= 32767;
        loop assigns weight, mean, rest;
        loop variant weight; */
    for (uint32_t weight = 16384u; weight != 0u; weight /= 2u) {
        //@ assert 0 <= steps * weight <= 0xFFFFFFFF * 16384;
        const uint64_t part = (uint64_t)steps * weight;
        if (rest >= part) {
            rest -= part;
            mean += weight;
        }
    }
    return (uint16_t)mean;
}

/* Carries the sums, and closes an epoch that has just ended. */
/*@ requires tcuq_core_given(monitor) && \valid(monitor->telemetry);
    requires \separated(monitor->telemetry, monitor, monitor->profile, monitor->core);
    assigns monitor->telemetry->means[0 .. TCUQ_EPOCH_MEANS - 1], monitor->telemetry->sums[0 .. TCUQ_EPOCH_MEANS - 1],
      monitor->telemetry->carried[0 .. TCUQ_EPOCH_MEANS - 1]; */
static TCUQ_NOINLINE void tcuq_means_carry(const tcuq_monitor *monitor)
{
    tcuq_telemetry *telemetry = monitor->telemetry;
    const uint32_t count = (monitor->profile->channel_count != 0u) ? TCUQ_EPOCH_MEANS : 0u; /* else there are no epochs */
    /*@ loop invariant i <= count <= TCUQ_EPOCH_MEANS;
        loop assigns i, telemetry->means[0 .. TCUQ_EPOCH_MEANS - 1], telemetry->sums[0 .. TCUQ_EPOCH_MEANS - 1],
          telemetry->carried[0 .. TCUQ_EPOCH_MEANS - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const uint32_t high = telemetry->sums[i] / 65536u;
        const uint32_t room = UINT32_MAX - telemetry->carried[i];
        telemetry->carried[i] += (high < room) ? high : room;
        telemetry->sums[i] %= 65536u;
        if (monitor->core->epoch_steps == 0u) {
            telemetry->means[i] = tcuq_mean_of(telemetry, i, monitor->profile->epoch_steps);
            telemetry->sums[i] = 0u;
            telemetry->carried[i] = 0u;
        }
    }
}

#endif

/* While no epoch has closed, of the running one so far. */
uint16_t tcuq_mean(const tcuq_monitor *monitor, uint32_t which)
{
#if TCUQ_WITH_ALARM
    const tcuq_core *core = monitor->core;
    if ((core->epoch == 0u) && (core->epoch_steps != 0u)) {
        return tcuq_mean_of(monitor->telemetry, which, core->epoch_steps);
    }
#endif
    return monitor->telemetry->means[which];
}

/* After the alarm has counted the step: its epoch has ended if none of the next has passed. */
void tcuq_telemetry_count(const tcuq_monitor *monitor, const tcuq_signals *signals, const tcuq_decision *decision)
{
    tcuq_telemetry *telemetry = monitor->telemetry;
    telemetry->steps++;
    if (decision->outcome != (uint8_t)TCUQ_ACCEPT) {
        telemetry->abstained += (decision->outcome == (uint8_t)TCUQ_ABSTAIN) ? 1u : 0u;
        telemetry->denied += (decision->outcome == (uint8_t)TCUQ_DENIED) ? 1u : 0u;
    }
    telemetry->exceeded += decision->exceeded;
    if ((decision->alarm != 0u) && (telemetry->alarms != UINT16_MAX)) {
        telemetry->alarms++;
    }
    tcuq_histogram_count(telemetry, decision->risk);
#if TCUQ_WITH_ALARM
    telemetry->sums[0] += decision->expected_error;
    telemetry->sums[1] += (uint16_t)signals->health_q10;
    telemetry->sums[2] += decision->novelty_q10;
    telemetry->sums[3] += (uint32_t)(-(int32_t)signals->low_confidence_q10);
    if (decision->label != telemetry->last_label) {
        telemetry->sums[4] += (telemetry->last_label != UINT16_MAX) ? TCUQ_RISK_LEVELS : 0u;
        telemetry->last_label = decision->label;
    }
    if ((monitor->core->epoch_steps % TCUQ_CARRY_STEPS) == 0u) {
        tcuq_means_carry(monitor);
    }
#else
    (void)signals;
#endif
}

/* The counters alone, at a boot. */
void tcuq_telemetry_reset(const tcuq_monitor *monitor)
{
    tcuq_telemetry *telemetry = monitor->telemetry;
    telemetry->steps = 0u;
    telemetry->abstained = 0u;
    telemetry->denied = 0u;
    telemetry->exceeded = 0u;
    telemetry->alarms = 0u;
    telemetry->histogram_shift = 0u;
    telemetry->reserved = 0u;
    /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS;
        loop assigns i, telemetry->histogram[0 .. TCUQ_HISTOGRAM_BINS - 1];
        loop variant TCUQ_HISTOGRAM_BINS - i; */
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        telemetry->histogram[i] = 0u;
    }
}

void tcuq_means_reset(const tcuq_monitor *monitor)
{
    tcuq_telemetry *telemetry = monitor->telemetry;
    telemetry->last_label = UINT16_MAX;
    /*@ loop invariant i <= TCUQ_EPOCH_MEANS;
        loop assigns i, telemetry->means[0 .. TCUQ_EPOCH_MEANS - 1], telemetry->sums[0 .. TCUQ_EPOCH_MEANS - 1],
          telemetry->carried[0 .. TCUQ_EPOCH_MEANS - 1];
        loop variant TCUQ_EPOCH_MEANS - i; */
    for (uint8_t i = 0u; i < TCUQ_EPOCH_MEANS; i++) {
        telemetry->means[i] = UINT16_MAX;
        telemetry->sums[i] = 0u;
        telemetry->carried[i] = 0u;
    }
}

#endif
