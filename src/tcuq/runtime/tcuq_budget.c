/* SPDX-License-Identifier: Apache-2.0 */
/* Budget: a token bucket; abstentions in every window of n are at most burst + rate · n. What becomes of a step
 * that asks in vain is the profile's choice. */
#include "tcuq_internal.h"

bool tcuq_budget_sound(const tcuq_profile *profile)
{
    return (profile->rate_q16 <= TCUQ_TOKEN) && (profile->burst_q16 <= (uint32_t)INT32_MAX) &&
           (profile->withhold_denied <= 1u);
}

void tcuq_budget_run(const tcuq_monitor *monitor, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    /* tokens <= burst < 2^31 and rate <= 2^16: no overflow. */
    const uint32_t filled = core->tokens_q16 + profile->rate_q16;
    core->tokens_q16 = (filled > profile->burst_q16) ? profile->burst_q16 : filled;
    decision->outcome = (uint8_t)TCUQ_ACCEPT;
    decision->withheld = 0u;
    if (decision->reason == 0u) {
        return;
    }
    if (core->tokens_q16 < TCUQ_TOKEN) {
        decision->outcome = (uint8_t)TCUQ_DENIED;
        decision->withheld = profile->withhold_denied;
        return;
    }
    core->tokens_q16 -= TCUQ_TOKEN;
    decision->outcome = (uint8_t)TCUQ_ABSTAIN;
    decision->withheld = 1u;
}

void tcuq_budget_reset(const tcuq_monitor *monitor)
{
    monitor->core->tokens_q16 = monitor->profile->burst_q16;
}
