/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry: cumulative counters and a risk histogram, counted every step. */
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

void tcuq_telemetry_count(const tcuq_monitor *monitor, const tcuq_decision *decision)
{
    tcuq_telemetry *telemetry = monitor->telemetry;
    telemetry->steps++;
    telemetry->abstained += (decision->outcome == (uint8_t)TCUQ_ABSTAIN) ? 1u : 0u;
    telemetry->denied += (decision->outcome == (uint8_t)TCUQ_DENIED) ? 1u : 0u;
    telemetry->exceeded += decision->exceeded;
    if ((decision->alarm != 0u) && (telemetry->alarms != UINT16_MAX)) {
        telemetry->alarms++;
    }
    tcuq_histogram_count(telemetry, decision->risk);
}

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

#endif
