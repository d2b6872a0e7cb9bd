/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal application around the monitor; yours to change, an export again leaves it alone. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

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
    printk("tcuq profile %s, self-test %d\n", TCUQ_DEVICE_PROFILE_SHA256, (int)fault);
    while ((fault == 0) && next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL, &decision);
        if (decision.outcome != TCUQ_ACCEPT) {
            printk("%s\n", (decision.outcome == TCUQ_ABSTAIN) ? "abstain" : "budget spent");
        }
        if (decision.alarm != 0u) {
            printk("alarm: this is not the stream that was calibrated on\n");
        }
    }
    return (int)fault;
}
