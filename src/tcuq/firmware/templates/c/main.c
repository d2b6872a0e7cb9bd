/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal program around the monitor. It is yours to change: a later export does not overwrite it. */
#include "tcuq_device.h"

@INPUTS@

int main(void)
{
    const int32_t fault = tcuq_device_selftest();
    if (fault != 0) {
        return 1; /* this build does not decide as the host does: do not use it */
    }
    uint32_t not_accepted = 0u;
    while (next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL,
                  (TCUQ_DEVICE_HEALTH > 0u) ? health : NULL, &decision);
        if (decision.withheld != 0u) {
            not_accepted++; /* do not use the output; decision.reason says why */
        }
        if (decision.alarm != 0u) {
            break; /* the stream is no longer the one known so far */
        }
    }
    return (not_accepted == 0u) ? 0 : 2;
}
