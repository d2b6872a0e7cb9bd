/* SPDX-License-Identifier: Apache-2.0 */
/* Lags: what a profile may say of them. */
#include "tcuq_internal.h"

/* Lags ascend from 1 on; each row of weights sums to at most 1. */
bool tcuq_lags_sound(const tcuq_profile *profile)
{
    const uint16_t *weights = profile->lag_weights_q15;
    uint8_t before = 0u;
    if ((profile->lag_count < 1u) || (profile->lag_count > TCUQ_MAX_LAGS) || (weights == NULL)) {
        return false;
    }
    /*@ loop invariant 1 <= count <= profile->lag_count + 1 && tcuq_lags_ascend(profile, count - 1);
        loop invariant before == (count == 1 ? 0 : profile->lags[count - 2]);
        loop invariant weights == profile->lag_weights_q15 + tcuq_cells(count - 1, count) / 2;
        loop assigns count, weights, before; loop variant profile->lag_count - count; */
    for (uint32_t count = 1u; count <= profile->lag_count; count++) {
        uint32_t sum = 0u;
        //@ assert tcuq_cells(count, count + 1) / 2 == tcuq_cells(count - 1, count) / 2 + count;
        //@ assert tcuq_cells(count, count + 1) <= tcuq_cells(profile->lag_count, profile->lag_count + 1);
        /*@ loop invariant i <= count && sum <= 65535 * i;
            loop invariant weights == profile->lag_weights_q15 + (tcuq_cells(count - 1, count) / 2 + i);
            loop assigns i, sum, weights; loop variant count - i; */
        for (uint32_t i = 0u; i < count; i++) {
            sum += *weights;
            weights++;
        }
        if ((sum > 32768u) || (profile->lags[count - 1u] <= before)) {
            return false;
        }
        before = profile->lags[count - 1u];
    }
    return true;
}
