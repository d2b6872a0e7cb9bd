/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime alone: a loop over steps, as a C program would write it. */
#include "monitor.h"

const size_t bare_decision_bytes = sizeof(tcuq_decision);

int bare_run(const uint8_t *posteriors, const int8_t *features, size_t steps, tcuq_decision *decisions)
{
    const tcuq_profile *profile = firmware_monitor.profile;
    if (tcuq_init(&firmware_monitor) != TCUQ_OK) {
        return -1;
    }
    for (size_t i = 0u; i < steps; i++) {
        tcuq_step(&firmware_monitor, &posteriors[i * profile->classes], &features[i * profile->width],
                  NULL, &decisions[i]);
    }
    return 0;
}
