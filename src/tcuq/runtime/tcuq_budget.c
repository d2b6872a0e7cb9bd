/* SPDX-License-Identifier: Apache-2.0 */
/* Budget: a token bucket; abstentions in every window of n are at most burst + rate · n. */
#include "tcuq_internal.h"

bool tcuq_budget_sound(const tcuq_profile *profile)
{
    return (profile->rate_q16 <= TCUQ_TOKEN) && (profile->burst_q16 <= (uint32_t)INT32_MAX);
}

uint8_t tcuq_budget_run(const tcuq_monitor *monitor, bool asked)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    /* tokens <= burst < 2^31 and rate <= 2^16: no overflow. */
    const uint32_t filled = core->tokens_q16 + profile->rate_q16;
    core->tokens_q16 = (filled > profile->burst_q16) ? profile->burst_q16 : filled;
    if (!asked) {
        return (uint8_t)TCUQ_ACCEPT;
    }
    if (core->tokens_q16 < TCUQ_TOKEN) {
        return (uint8_t)TCUQ_DENIED;
    }
    core->tokens_q16 -= TCUQ_TOKEN;
    return (uint8_t)TCUQ_ABSTAIN;
}

void tcuq_budget_reset(const tcuq_monitor *monitor)
{
    monitor->core->tokens_q16 = monitor->profile->burst_q16;
}
