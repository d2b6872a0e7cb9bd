/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: how a step differs from its recent past and from what calibration looked like.
 *
 * The oldest past step is the slot that is overwritten: read, then stored, so that the ring holds
 * max(lags) steps and no more. */
#include "tcuq_internal.h"

#define TCUQ_LOW_CONFIDENCE_UNIT 24 /* log2 of the unit confidence shortfall is taken in */
#define TCUQ_CERTAIN 168u           /* 1e-5 in that unit */

static uint8_t tcuq_ring_size(const tcuq_profile *profile)
{
    return profile->lags[profile->lag_count - 1u];
}

static uint8_t tcuq_slot_at(const tcuq_monitor *monitor, uint8_t lag)
{
    const uint8_t size = tcuq_ring_size(monitor->profile);
    const uint8_t next = monitor->core->next;
    return (uint8_t)(next >= lag ? next - lag : next + size - lag);
}

/* How many of the lags have a past: they ascend, so the first ones do. */
static uint8_t tcuq_lags_present(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    uint8_t present = 0u;
    while ((present < profile->lag_count) && (profile->lags[present] <= monitor->core->filled)) {
        present++;
    }
    return present;
}

typedef struct {
    uint32_t sum;
    uint16_t label;
    uint8_t first;
    uint8_t second;
    uint16_t entropy_q12;
} tcuq_posterior;

/* Sum, two largest, label (the first largest) and entropy. */
static void tcuq_read_posterior(const uint8_t *posterior, uint16_t classes, tcuq_posterior *read)
{
    uint32_t entropy_q16 = 0u;
    uint32_t sum = 0u;
    uint32_t first = 0u;
    uint32_t second = 0u;
    uint32_t label = 0u;
    for (uint32_t c = 0u; c < classes; c++) {
        const uint32_t p = posterior[c];
        sum += p;
        entropy_q16 += tcuq_xlog2x_q16[p];
        const bool higher = p > first;
        const uint32_t lower = higher ? first : p;
        second = (lower > second) ? lower : second;
        label = higher ? c : label;
        first = higher ? p : first;
    }
    const uint32_t entropy_q12 = (entropy_q16 + 8u) >> 4;
    read->sum = sum;
    read->label = (uint16_t)label;
    read->first = (uint8_t)first;
    read->second = (uint8_t)second;
    read->entropy_q12 = (uint16_t)((entropy_q12 > 65535u) ? 65535u : entropy_q12);
}

/* (Q12) Jensen-Shannon divergence of two posteriors whose entropies are known; 0 if they are equal.
 * An odd sum takes the mean of its two neighbours in the table: a chord of a concave function, so the
 * divergence is never negative but for rounding. */
static uint32_t tcuq_divergence_q12(const uint8_t *now, uint32_t entropy_now_q12, const uint8_t *past,
                                    uint32_t entropy_past_q12, uint16_t classes)
{
    uint32_t mixture_q16 = 0u; /* twice the mixture's entropy */
    for (uint32_t c = 0u; c < classes; c++) {
        const uint32_t both = (uint32_t)now[c] + past[c];
        mixture_q16 += tcuq_xlog2x_q16[both >> 1];
        mixture_q16 += tcuq_xlog2x_q16[(both + 1u) >> 1];
    }
    const uint32_t mixture_q12 = (mixture_q16 + 16u) >> 5;
    const uint32_t shared_q12 = (entropy_now_q12 + entropy_past_q12) >> 1;
    if (mixture_q12 <= shared_q12) {
        return 0u;
    }
    const uint32_t apart = mixture_q12 - shared_q12;
    return (apart > 4096u) ? 4096u : apart;
}

/* Length of a vector as (1 / normalised length, exponent): |f| · 2^exponent = 2^29 / reciprocal. */
static void tcuq_length(const int8_t *features, uint8_t count, tcuq_slot *slot)
{
    uint32_t square = (uint32_t)tcuq_dot(features, features, count);
    uint8_t exponent = 0u;
    if (square == 0u) {
        slot->reciprocal_q14 = 0u;
        slot->exponent = 0u;
        return;
    }
    if (square < (1u << 14)) {
        square <<= 16;
        exponent = (uint8_t)(exponent + 8u);
    }
    if (square < (1u << 22)) {
        square <<= 8;
        exponent = (uint8_t)(exponent + 4u);
    }
    if (square < (1u << 26)) {
        square <<= 4;
        exponent = (uint8_t)(exponent + 2u);
    }
    if (square < (1u << 28)) {
        square <<= 2;
        exponent = (uint8_t)(exponent + 1u);
    }
    slot->reciprocal_q14 = tcuq_rsqrt_q14(square);
    slot->exponent = exponent;
}

/* (Q15, 0..65536) 1 - cosine. Two zero vectors are alike, a zero vector is unlike anything else. */
static uint32_t tcuq_dissimilarity_q15(int32_t product, const tcuq_slot *now, const tcuq_slot *past)
{
    if ((now->reciprocal_q14 == 0u) || (past->reciprocal_q14 == 0u)) {
        return (now->reciprocal_q14 == past->reciprocal_q14) ? 0u : 32768u;
    }
    uint32_t size = (product < 0) ? (uint32_t)0 - (uint32_t)product : (uint32_t)product;
    const uint32_t exponents = (uint32_t)now->exponent + past->exponent;
    size = (exponents >= 15u) ? size << (exponents - 15u) : size >> (15u - exponents);
    size = (size * now->reciprocal_q14) >> 14;
    size = (size * past->reciprocal_q14) >> 14;
    if (size > 32768u) {
        size = 32768u;
    }
    return (product < 0) ? 32768u + size : 32768u - size;
}

static uint16_t tcuq_mean_q15(uint32_t sum_q15, uint8_t count)
{
    const uint32_t mean = sum_q15 / count;
    return (uint16_t)((mean > 65535u) ? 65535u : mean);
}

/* What a slot keeps of a step; the posterior's reading too, where the caller wants it. */
static void tcuq_summarise(const tcuq_profile *profile, const uint8_t *posterior,
                           const int8_t *features, tcuq_slot *slot, tcuq_posterior *kept)
{
    tcuq_posterior read;
    tcuq_read_posterior(posterior, profile->classes, &read);
    slot->entropy_q12 = read.entropy_q12;
    slot->label = read.label;
    slot->reciprocal_q14 = 0u;
    slot->exponent = 0u;
    slot->reserved = 0u;
    if (profile->width != 0u) {
        tcuq_length(features, profile->dimensions, slot);
    }
    if (kept != NULL) {
        *kept = read;
    }
}

/* Divergence, instability and inconsistency over the lags that have a past. */
static void tcuq_look_back(const tcuq_monitor *monitor, const uint8_t *posterior,
                           const int8_t *features, const tcuq_slot *now, tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    const uint8_t present = tcuq_lags_present(monitor);
    signals->whole_past = present == profile->lag_count;
    signals->values_q15[TCUQ_DIVERGENCE] = 0u;
    signals->values_q15[TCUQ_INSTABILITY] = 0u;
    signals->values_q15[TCUQ_INCONSISTENCY] = 0u;
    if (present == 0u) {
        return;
    }
    const uint16_t *weights = &profile->lag_weights_q15[((uint32_t)present * (present - 1u)) / 2u];
    uint32_t divergence_q27 = 0u;
    uint32_t dissimilarity_q15 = 0u;
    uint32_t changed = 0u;
    for (uint8_t i = 0u; i < present; i++) {
        const uint8_t at = tcuq_slot_at(monitor, profile->lags[i]);
        const tcuq_slot *past = &monitor->slots[at];
        divergence_q27 +=
            weights[i] * tcuq_divergence_q12(posterior, now->entropy_q12,
                                             &monitor->posteriors[(uint32_t)at * profile->classes],
                                             past->entropy_q12, profile->classes);
        changed += (now->label != past->label) ? 1u : 0u;
        if (profile->width != 0u) {
            const int8_t *old = &monitor->features[(uint32_t)at * profile->dimensions];
            const int32_t product = tcuq_dot(features, old, profile->dimensions);
            dissimilarity_q15 += tcuq_dissimilarity_q15(product, now, past);
        }
    }
    signals->values_q15[TCUQ_DIVERGENCE] = (uint16_t)((divergence_q27 + 2048u) >> 12);
    signals->values_q15[TCUQ_INSTABILITY] = tcuq_mean_q15(dissimilarity_q15, present);
    signals->values_q15[TCUQ_INCONSISTENCY] = tcuq_mean_q15(changed << 15, present);
}

/* (Q24) 1 - confidence, to the last bits that a posterior of bytes can tell. */
static uint32_t tcuq_short_q24(const tcuq_posterior *read)
{
    const uint32_t rest = read->sum - read->first; /* < 2^18 */
    if (read->sum == 0u) {
        return 1u << 24;
    }
    return (rest < 1024u) ? ((rest << 22) / read->sum) << 2 : ((rest << 13) / read->sum) << 11;
}

/* Confidence, doubt and low confidence of the step alone; a posterior of zeros has no confidence. */
static void tcuq_look_now(const tcuq_profile *profile, const tcuq_posterior *read,
                          tcuq_signals *signals)
{
    uint32_t confidence_q16 = 0u;
    uint32_t margin_q16 = 0u;
    if (read->sum != 0u) {
        confidence_q16 = ((uint32_t)read->first << 16) / read->sum;
        margin_q16 = ((uint32_t)(read->first - read->second) << 16) / read->sum;
    }
    const uint32_t short_q15 = (65536u - confidence_q16) >> 1;
    const uint32_t tied_q15 = (65536u - margin_q16) >> 1;
    const uint32_t blend = profile->blend_q15;
    const uint32_t low = tcuq_log2_q10(tcuq_short_q24(read) + TCUQ_CERTAIN);
    signals->confidence_q16 = confidence_q16;
    signals->values_q15[TCUQ_DOUBT] =
        (uint16_t)((blend * short_q15 + (32768u - blend) * tied_q15 + 16384u) >> 15);
    signals->low_confidence_q10 = (int16_t)((int32_t)low - (TCUQ_LOW_CONFIDENCE_UNIT << 10));
}

/* Wide features to `dimensions`: (matrix · features + bias) / 2^shift, rounded, saturated. */
static void tcuq_project(const tcuq_profile *profile, const int8_t *wide, int8_t *narrow)
{
    for (uint8_t row = 0u; row < profile->dimensions; row++) {
        const int8_t *weights = &profile->projection[(uint32_t)row * profile->width];
        int32_t sum = profile->projection_bias[row];
        for (uint32_t i = 0u; i < profile->width; i++) {
            sum += (int32_t)weights[i] * wide[i];
        }
        const int32_t value = tcuq_floor_shift(sum, profile->projection_shift);
        narrow[row] = (int8_t)((value > 127) ? 127 : ((value < -127) ? -127 : value));
    }
}

static void tcuq_remember(const tcuq_monitor *monitor, const uint8_t *posterior,
                          const int8_t *features, const tcuq_slot *now)
{
    const tcuq_profile *profile = monitor->profile;
    const uint8_t size = tcuq_ring_size(profile);
    tcuq_core *core = monitor->core;
    uint8_t *row = &monitor->posteriors[(uint32_t)core->next * profile->classes];
    for (uint32_t c = 0u; c < profile->classes; c++) {
        row[c] = posterior[c];
    }
    if (profile->width != 0u) {
        int8_t *kept = &monitor->features[(uint32_t)core->next * profile->dimensions];
        uint32_t i = 0u;
#if TCUQ_DSP /* where words need no alignment */
        for (; (i + 4u) <= profile->dimensions; i += 4u) {
            uint32_t four;
            __builtin_memcpy(&four, &features[i], 4);
            __builtin_memcpy(&kept[i], &four, 4);
        }
#endif
        for (; i < profile->dimensions; i++) {
            kept[i] = features[i];
        }
    }
    tcuq_slot *slot = &monitor->slots[core->next]; /* by member: a struct copy may call memcpy */
    slot->entropy_q12 = now->entropy_q12;
    slot->reciprocal_q14 = now->reciprocal_q14;
    slot->label = now->label;
    slot->exponent = now->exponent;
    slot->reserved = 0u;
    core->next = (uint8_t)((core->next + 1u == size) ? 0u : core->next + 1u);
    core->filled = (uint8_t)((core->filled < size) ? core->filled + 1u : size);
}

/* All signals but novelty; the step is then the past's newest. */
static TCUQ_OWN_FRAME void tcuq_observe(const tcuq_monitor *monitor, const uint8_t *posterior,
                                        const int8_t *features, tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    int8_t projected[TCUQ_MAX_DIMENSIONS];
    const int8_t *seen = features;
    tcuq_posterior read;
    tcuq_slot now;
    if (profile->projection != NULL) {
        tcuq_project(profile, features, projected);
        seen = projected;
    }
    tcuq_summarise(profile, posterior, seen, &now, &read);
    signals->label = now.label;
    tcuq_look_now(profile, &read, signals);
    tcuq_look_back(monitor, posterior, seen, &now, signals);
    tcuq_remember(monitor, posterior, seen, &now);
}

void tcuq_signals_run(const tcuq_monitor *monitor, const uint8_t *posterior,
                      const int8_t *features, tcuq_signals *signals)
{
    tcuq_observe(monitor, posterior, features, signals);
    signals->novelty_q10 = 0;
#if TCUQ_WITH_NOVELTY
    const tcuq_profile *profile = monitor->profile;
    if (profile->whitening != NULL) {
        /* From the ring, when the frame above is gone: their stacks do not add up. */
        const uint8_t newest = tcuq_slot_at(monitor, 1u);
        signals->novelty_q10 = tcuq_novelty_run(
            profile, &monitor->features[(uint32_t)newest * profile->dimensions]);
    }
#endif
}

/* What is derived from the past steps, derived again. */
void tcuq_signals_refresh(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    for (uint8_t at = 0u; at < tcuq_ring_size(profile); at++) {
        tcuq_summarise(profile, &monitor->posteriors[(uint32_t)at * profile->classes],
                       &monitor->features[(uint32_t)at * profile->dimensions], &monitor->slots[at],
                       NULL);
    }
}

void tcuq_signals_reset(const tcuq_monitor *monitor)
{
    monitor->core->next = 0u;
    monitor->core->filled = 0u;
}

/* A signal in the unit its term's table is in: Q14 for the first four, Q10 for the logarithms. */
int16_t tcuq_signal_value(const tcuq_signals *signals, uint8_t signal)
{
    if (signal == (uint8_t)TCUQ_LOW_CONFIDENCE) {
        return signals->low_confidence_q10;
    }
    if (signal == (uint8_t)TCUQ_NOVELTY) {
        return signals->novelty_q10;
    }
    return (int16_t)(signals->values_q15[signal & 3u] >> 1);
}
