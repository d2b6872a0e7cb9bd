/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal program around the monitor; yours to change, an export again leaves it alone. */
#include "tcuq_device.h"

static uint8_t posterior[TCUQ_DEVICE_CLASSES];
static int8_t features[TCUQ_DEVICE_FEATURE_BYTES];

/* Yours: what the network said of the newest input, quantised as the README says; false: no more. */
static bool next_step(void)
{
    posterior[0] = 0u;
    features[0] = 0;
    return false;
}

int main(void)
{
    const int32_t fault = tcuq_device_selftest();
    if (fault != 0) {
        return 1; /* this build does not decide as the host does: do not trust it */
    }
    uint32_t refused = 0u;
    while (next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL, &decision);
        if (decision.outcome != TCUQ_ACCEPT) {
            refused++; /* TCUQ_ABSTAIN: ask somebody; TCUQ_DENIED: the budget is spent */
        }
        if (decision.alarm != 0u) {
            break; /* this is not the stream that was calibrated on */
        }
    }
    return (refused == 0u) ? 0 : 2;
}
