/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal application around the monitor. It is yours to change: a later export does not overwrite it. */
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "tcuq_device.h"

@INPUTS@

int main(void)
{
    const int32_t fault = tcuq_device_selftest();
    printk("tcuq profile %s, self-test %d\n", TCUQ_DEVICE_PROFILE_SHA256, (int)fault);
    while ((fault == 0) && next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL,
                  (TCUQ_DEVICE_HEALTH > 0u) ? health : NULL, &decision);
        if (decision.withheld != 0u) {
            printk("withheld: %s\n", ((decision.reason & TCUQ_REASON_DOUBT) != 0u) ? "doubtful" : "unusual");
        }
        if (decision.alarm != 0u) {
            printk("alarm: the stream is no longer the one known so far\n");
        }
    }
    return (int)fault;
}
