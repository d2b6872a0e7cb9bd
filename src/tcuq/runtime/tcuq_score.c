/* SPDX-License-Identifier: Apache-2.0 */
/* Score: signals to one risk in 0..16384. */
#include "tcuq_internal.h"

/* The paper's: mix · sigmoid(weights · signals + bias) + (1 - mix) · (1 - confidence). */
static uint16_t tcuq_score_combined(const tcuq_profile *profile, const tcuq_signals *signals)
{
    int32_t logit_q16 = profile->bias_q16;
    for (uint8_t i = 0u; i < 4u; i++) {
        /* Q15 · 2^-shift to Q16: |weight · value| < 2^31, quartered so that four fit. */
        const int32_t product = (int32_t)profile->weights[i] * (int32_t)(signals->values_q15[i]);
        logit_q16 += tcuq_floor_shift(product, (uint8_t)(profile->weight_shift - 1u));
    }
    const uint32_t uncertainty_q15 = tcuq_sigmoid(logit_q16) >> 1;
    const uint32_t short_q15 = (65536u - signals->confidence_q16) >> 1;
    const uint32_t mix = profile->mix_q15;
    return (uint16_t)((mix * uncertainty_q15 + (32768u - mix) * short_q15 + 32768u) >> 16);
}

#if TCUQ_WITH_ANCHORED

#define TCUQ_FULL_Q18 (16u << 18) /* sixteen bits of surprise */

/* (signal's unit, Q10) bits = -log2 survival: linear between points, by the slope beyond the last. */
static uint32_t tcuq_surprise_q10(const tcuq_term *term, int32_t value)
{
    const uint8_t last = (uint8_t)(term->point_count - 1u);
    if (value <= term->points[0]) {
        return term->bits_q10[0];
    }
    if (value >= term->points[last]) {
        const uint32_t beyond = (uint32_t)(value - term->points[last]);
        return term->bits_q10[last] + ((beyond * term->slope_q8) >> 8);
    }
    uint8_t low = 0u;
    uint8_t high = last; /* points[low] < value < points[high] */
    while ((high - low) > 1) {
        const uint8_t middle = (uint8_t)((low + high) / 2u);
        if (term->points[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const uint32_t width = (uint32_t)((int32_t)term->points[high] - term->points[low]);
    const uint32_t along = (uint32_t)(value - term->points[low]);
    const uint32_t rise = (uint32_t)term->bits_q10[high] - term->bits_q10[low];
    return term->bits_q10[low] + (rise * along) / width;
}

/* Ours: the sum over terms of weight · clip(bits - dead, 0, cap). */
static uint16_t tcuq_score_anchored(const tcuq_monitor *monitor, const tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    uint32_t total_q18 = 0u;
    for (uint8_t i = 0u; i < profile->term_count; i++) {
        const tcuq_term *term = &profile->terms[i];
        int32_t value = tcuq_signal_value(signals, term->signal);
        if (term->ewma != 0u) {
            int32_t *mean_q8 = &monitor->smoothed_q8[i];
            *mean_q8 += tcuq_floor_shift(value * 256 - *mean_q8, term->ewma);
            value = tcuq_floor_shift(*mean_q8, 8u);
        }
        const uint32_t bits = tcuq_surprise_q10(term, (term->lower != 0u) ? -value : value);
        uint32_t over = (bits > term->dead_q10) ? bits - term->dead_q10 : 0u;
        over = (over > term->cap_q10) ? term->cap_q10 : over;
        total_q18 += over * term->weight_q8;
    }
    return (uint16_t)(((total_q18 > TCUQ_FULL_Q18) ? TCUQ_FULL_Q18 : total_q18) >> 8);
}

static bool tcuq_term_sound(const tcuq_profile *profile, const tcuq_term *term)
{
    bool sound = tcuq_signal_given(profile, term->signal) && (term->point_count >= 1u) &&
                 (term->point_count <= TCUQ_MAX_POINTS) && (term->points != NULL) &&
                 (term->bits_q10 != NULL) && (term->ewma <= 10u) && (term->cap_q10 <= 16384u) &&
                 (term->weight_q8 <= 16384u);
    for (uint32_t i = 1u; sound && (i < term->point_count); i++) {
        sound = (term->points[i] > term->points[i - 1u]) &&
                (term->bits_q10[i] >= term->bits_q10[i - 1u]);
    }
    return sound;
}

#endif

bool tcuq_score_sound(const tcuq_profile *profile)
{
    if (profile->terms == NULL) {
        return (profile->term_count == 0u) && (profile->mix_q15 <= 32768u) &&
               (profile->weight_shift >= 5u) && (profile->weight_shift <= 16u) &&
               (profile->bias_q16 <= TCUQ_MAX_BIAS) && (profile->bias_q16 >= -TCUQ_MAX_BIAS);
    }
#if TCUQ_WITH_ANCHORED
    bool sound = (profile->term_count >= 1u) && (profile->term_count <= TCUQ_MAX_TERMS);
    for (uint32_t i = 0u; sound && (i < profile->term_count); i++) {
        sound = tcuq_term_sound(profile, &profile->terms[i]);
    }
    return sound;
#else
    return true; /* tcuq_init says that this build leaves it out */
#endif
}

uint16_t tcuq_score_run(const tcuq_monitor *monitor, const tcuq_signals *signals)
{
#if TCUQ_WITH_ANCHORED
    if (monitor->profile->terms != NULL) {
        return tcuq_score_anchored(monitor, signals);
    }
#endif
    return tcuq_score_combined(monitor->profile, signals);
}

#if TCUQ_WITH_ANCHORED

bool tcuq_score_smooths(const tcuq_profile *profile)
{
    bool smooths = false;
    for (uint32_t i = 0u; i < profile->term_count; i++) {
        smooths = smooths || (profile->terms[i].ewma != 0u);
    }
    return smooths;
}

/* Every one, also of a term that does not smooth: the snapshot keeps them all. */
void tcuq_score_reset(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    for (uint32_t i = 0u; (monitor->smoothed_q8 != NULL) && (i < profile->term_count); i++) {
        monitor->smoothed_q8[i] = (int32_t)profile->terms[i].start * 256;
    }
}

#endif
