/* SPDX-License-Identifier: Apache-2.0 */
/* Threshold: an integer ledger that makes the rate of exceedances alpha on any sequence. */
#include "tcuq_internal.h"

bool tcuq_threshold_sound(const tcuq_profile *profile)
{
    return (profile->alpha_q16 != 0u) && (profile->step <= TCUQ_MAX_STEP) &&
           (profile->start <= TCUQ_RISK_LEVELS) && (profile->anchor <= TCUQ_RISK_LEVELS);
}

void tcuq_threshold_run(const tcuq_monitor *monitor, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    const int32_t risk_q16 = (int32_t)((uint32_t)decision->risk << 16); /* <= 2^30 */
    const int32_t anchor_q16 = (int32_t)((uint32_t)profile->anchor << 16);
    int32_t level_q16 = core->ledger_q16;
    const bool exceeded = risk_q16 >= level_q16;
    const uint32_t rise = exceeded ? 65536u - profile->alpha_q16 : profile->alpha_q16;
    //@ assert profile->step * rise <= profile->step * 65536;
    const int32_t move = (int32_t)(profile->step * rise); /* <= 2^29 */
    core->ledger_q16 += exceeded ? move : -move;
    const bool guarded = (profile->adaptive == 0u) || (core->age < profile->warmup);
    if (core->age != UINT32_MAX) {
        core->age++;
    }
    if (guarded && (anchor_q16 < level_q16)) {
        level_q16 = anchor_q16;
    }
    decision->exceeded = exceeded ? 1u : 0u;
    decision->threshold_q16 = level_q16;
    const bool unusual = (profile->novelty_limit_q10 != UINT16_MAX) &&
                         (decision->novelty_q10 >= profile->novelty_limit_q10);
    const uint32_t doubt = (risk_q16 >= level_q16) ? TCUQ_REASON_DOUBT : 0u;
    decision->reason = (uint8_t)(unusual ? doubt + TCUQ_REASON_UNUSUAL : doubt);
}

void tcuq_threshold_reset(const tcuq_monitor *monitor)
{
    monitor->core->ledger_q16 = (int32_t)((uint32_t)monitor->profile->start << 16);
    monitor->core->age = 0u;
}
