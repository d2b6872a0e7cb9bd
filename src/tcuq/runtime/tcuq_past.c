/* SPDX-License-Identifier: Apache-2.0 */
/* Signals before the first step: what a profile may say of them, and a past that is empty or derived again. */
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

/* What is derived from the past steps, derived again. */
void tcuq_signals_refresh(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    /*@ loop invariant at <= tcuq_slots(profile) && tcuq_sizes_kept{Pre, Here}(\at(monitor->profile, Pre));
        loop invariant \forall integer k; 0 <= k < at ==> tcuq_slot_ok(monitor->slots + k);
        loop assigns at, \at(monitor->slots, Pre)[0 .. \at(tcuq_slots(monitor->profile), Pre) - 1]; loop variant tcuq_slots(profile) - at; */
    for (uint32_t at = 0u; at < tcuq_ring_size(profile); at++) {
        //@ assert TCUQ_ROW_WITHIN(at, profile->classes) && TCUQ_ROW_WITHIN(at, profile->dimensions);
        const int8_t *row = tcuq_features_at(monitor, at);
        tcuq_slot *slot = &monitor->slots[at];
        tcuq_posterior read;
        if (tcuq_has_outputs(profile)) {
            read.label = 0u;
            read.entropy_q12 = 0u;
        } else {
            tcuq_read_posterior(&monitor->posteriors[at * profile->classes], profile->classes, &read);
        }
        tcuq_length(tcuq_dot(row, row, profile->dimensions), slot);
        slot->entropy_q12 = read.entropy_q12;
        slot->label = read.label;
    }
}

bool tcuq_signals_sound(const tcuq_profile *profile)
{
    const bool outputs = tcuq_has_outputs(profile);
    return (profile->classes >= (outputs ? 1u : 2u)) &&
           (profile->classes <= (outputs ? TCUQ_MAX_OUTPUTS : TCUQ_MAX_CLASSES)) &&
           (outputs || (profile->blend_q15 <= 32768u)) && (profile->stay_q8 <= 25600u) && (profile->rest_q8 <= 768u) &&
           (profile->change_q8 >= 1u) && (profile->change_q8 <= 256u) && tcuq_features_sound(profile) && tcuq_lags_sound(profile);
}

bool tcuq_signal_given(const tcuq_profile *profile, uint8_t signal)
{
    if (signal == (uint8_t)TCUQ_NOVELTY) {
        return profile->whitening != NULL;
    }
    if (signal == (uint8_t)TCUQ_INSTABILITY) {
        return profile->width != 0u;
    }
    if (signal == (uint8_t)TCUQ_CONTRADICTION) {
        return profile->stay_q8 != 0u;
    }
    return signal < (uint8_t)TCUQ_NOVELTY;
}

void tcuq_signals_reset(const tcuq_monitor *monitor)
{
    tcuq_core *core = monitor->core;
    core->next = 0u;
    core->filled = 0u;
    core->kept[0] = 0u;
    core->kept[1] = 1u;
    core->held_q15[0] = 0u;
    core->held_q15[1] = 0u;
}
