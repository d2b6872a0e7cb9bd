/* SPDX-License-Identifier: Apache-2.0 */
/* Profile @HASH8@, exported by tcuq @VERSION@; generated: do not edit, export again. */
#include "tcuq_device.h"

@VECTORS@

static bool same(const tcuq_decision *left, const tcuq_decision *right)
{
    return @SAME@;
}

/* Compares the state after the last step, by the checksum at the end of a snapshot. */
static bool same_state(void)
{
#if TCUQ_WITH_TELEMETRY /* the host's engine always has counters, so only a build with counters can match */
    uint8_t snapshot[TCUQ_DEVICE_SNAPSHOT_BYTES];
    bool equal = tcuq_snapshot(&tcuq_device, snapshot, sizeof snapshot) == TCUQ_OK;
    for (uint32_t i = 0u; equal && (i < sizeof state_crc); i++) {
        equal = snapshot[sizeof snapshot - sizeof state_crc + i] == state_crc[i];
    }
    return equal;
#else
    (void)state_crc;
    return true;
#endif
}

int32_t tcuq_device_selftest(void)
{
    const tcuq_status status = tcuq_init(&tcuq_device);
    if (status != TCUQ_OK) {
        return (int32_t)status;
    }
    int32_t fault = 0;
    for (uint32_t step = 0u; (step < STEPS) && (fault == 0); step++) {
        const uint32_t row = (step / DWELL) % ROWS;
        tcuq_decision decision;
        tcuq_step(&tcuq_device, &posteriors[row * TCUQ_DEVICE_CLASSES], @FEATURES_ROW@,
                  @HEALTH_ROW@, &decision);
        if (!same(&decision, &expected[step])) {
            fault = (int32_t)step + 1;
        }
    }
    if ((fault == 0) && !same_state()) {
        fault = (int32_t)STEPS + 1;
    }
    tcuq_reset(&tcuq_device);
    return fault;
}
