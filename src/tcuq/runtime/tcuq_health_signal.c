/* SPDX-License-Identifier: Apache-2.0 */
/* Input health: log2(1 + sum of squared standard scores) of the step's sensor statistics, and the statistic
 * farthest from calibration. */
#include "tcuq_internal.h"
#ifdef __FRAMAC__
#include "tcuq_acsl_bits.h"
#endif

#if TCUQ_WITH_HEALTH

#define TCUQ_HEALTH_ONE 12u /* a squared standard score of 1 is 2^this */

bool tcuq_health_sound(const tcuq_profile *profile)
{
    return (profile->health_count == 0u) ||
           ((profile->health_count <= TCUQ_MAX_HEALTH) && (profile->health_means != NULL) &&
            (profile->health_weights_q9 != NULL));
}

/* (Q10, Q10, Q9; Q6) Distance of a statistic from its mean in standard deviations, below 128, rounded down. */
/*@ assigns \nothing; ensures 0 <= \result <= 8191; */
static inline uint32_t tcuq_standard_score(int16_t value, int16_t mean, uint16_t weight_q9)
{
    const int32_t apart = (int32_t)value - (int32_t)mean;
    //@ assert -65535 <= apart <= 65535;
#if TCUQ_DSP
    const uint32_t distance = __usat((apart < 0) ? -apart : apart, 15);
    return __usat((int32_t)(distance * weight_q9) >> 13, 13);
#else
    uint32_t distance = (uint32_t)((apart < 0) ? -apart : apart);
    if (distance > 32767u) {
        distance = 32767u;
    }
    //@ assert 0 <= tcuq_cells(distance, weight_q9) <= 2147385345;
    const uint32_t score = (distance * weight_q9) >> 13;
    return (score > 8191u) ? 8191u : score;
#endif
}

void tcuq_health_run(const tcuq_profile *profile, const int16_t *health, tcuq_signals *signals)
{
    uint32_t total = (uint32_t)1u << TCUQ_HEALTH_ONE;
    uint32_t worst = 0u;
    /*@ loop invariant j <= profile->health_count;
        loop invariant worst <= 65535 && (worst & 15) < profile->health_count;
        loop invariant 4096 <= total <= 4096 + 67092481 * j;
        loop assigns j, total, worst;
        loop variant profile->health_count - j; */
    for (uint32_t j = 0u; j < profile->health_count; j++) {
        const uint32_t score =
            tcuq_standard_score(health[j], profile->health_means[j], profile->health_weights_q9[j]);
        //@ assert 0 <= tcuq_cells(score, score) <= 67092481;
        const uint32_t ranked = ((score >> 1) << 4) | j;
        //@ assert ranked <= 65535 && (ranked & 15) == j;
        total += score * score;
        worst = (ranked > worst) ? ranked : worst;
    }
    signals->health_given = true;
    signals->health_q10 =
        (int16_t)((int32_t)tcuq_log2_q10(total) - (int32_t)(TCUQ_HEALTH_ONE << 10));
    signals->health_worst = (uint16_t)worst;
}

#endif
