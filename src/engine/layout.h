/* SPDX-License-Identifier: Apache-2.0 */
/* Where the numbers and arrays of a profile's integers (tcuq.profile.quantize) lie in the runtime's structs: for
 * Python's engine and for the browser's. */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdbool.h>

#include "field.h"
#include "quantize.h"
#include "tcuq.h"

#define PROFILE(name, kind) {#name, offsetof(tcuq_profile, name), kind, 0}
#define TERM(name, kind) {#name, offsetof(tcuq_term, name), kind, 0}
#define CHANNEL(name, kind, count) {#name, offsetof(tcuq_channel, name), kind, count}
#define QUANTIZER(name, kind) {#name, offsetof(quantizer, name), kind, 0}
#define END(type) {NULL, sizeof(type), U8, 0}

static const field profile_fields[] = {
    PROFILE(hash, U32),
    PROFILE(classes, U16),
    PROFILE(width, U16),
    PROFILE(dimensions, U8),
    PROFILE(blend_q15, U16),
    PROFILE(mix_q15, U16),
    PROFILE(projection_shift, U8),
    PROFILE(mean_count, U16),
    PROFILE(novelty_exponent, U8),
    PROFILE(health_count, U8),
    PROFILE(stay_q8, U16),
    PROFILE(rest_q8, U16),
    PROFILE(change_q8, U16),
    PROFILE(weight_shift, U8),
    PROFILE(bias_q16, I32),
    PROFILE(error_bias_q16, I32),
    PROFILE(novelty_limit_q10, U16),
    PROFILE(withhold_denied, U8),
    PROFILE(adaptive, U8),
    PROFILE(alpha_q16, U16),
    PROFILE(step, U16),
    PROFILE(start, U16),
    PROFILE(anchor, U16),
    PROFILE(warmup, U32),
    PROFILE(rate_q16, U32),
    PROFILE(burst_q16, U32),
    PROFILE(alarm_limit, U32),
    PROFILE(epoch_steps, U32),
    END(tcuq_profile),
};

static const field term_fields[] = {
    TERM(signal, U8),
    TERM(ewma, U8),
    TERM(dead_q10, U16),
    TERM(cap_q10, U16),
    TERM(weight_q8, U16),
    TERM(error_q8, U16),
    TERM(novelty_q8, U16),
    TERM(slope_q8, U16),
    TERM(start_q10, U16),
    END(tcuq_term),
};

static const field channel_fields[] = {
    CHANNEL(signal, U8, 0),
    CHANNEL(flag, U8, 0),
    CHANNEL(two_sided, U8, 0),
    CHANNEL(block, U16, 0),
    CHANNEL(boot_limit_q8, U16, 0),
    CHANNEL(centre, I32, 0),
    CHANNEL(edges, I32, TCUQ_EDGES),
    CHANNEL(gains_q8, I16, TCUQ_EDGES + 1),
    CHANNEL(counts, U16, TCUQ_COUNTS),
    END(tcuq_channel),
};

static const field quantizer_fields[] = {
    QUANTIZER(logits, U8),
    QUANTIZER(promise, U8),
    QUANTIZER(feature_scale, F64),
    QUANTIZER(max_magnitude, F64),
    QUANTIZER(sum_tolerance, F64),
    END(quantizer),
};

/* How many items of which size an array has, and whether it may be None. */
typedef struct {
    size_t size;
    size_t least;
    size_t most;
    bool needed;
} extent;

static inline extent exactly(size_t count, size_t size, bool needed)
{
    const extent one = {size, count, count, needed};
    return one;
}

/* An array of a profile: the place of its pointer, and what it holds. */
typedef struct {
    const char *name;
    size_t offset;
    extent items;
} array_rule;

#define PROFILE_ARRAYS 10u

/* Writes the rules that these numbers of a profile, its lags among them, give its arrays. */
static inline void profile_arrays(const tcuq_profile *profile, array_rule rules[PROFILE_ARRAYS])
{
    const size_t lags = profile->lag_count;
    const size_t rows = profile->dimensions;
    const size_t groups = (rows + 3u) / 4u;
#define ARRAY(name, count, type, needed)                                                            \
    {#name, offsetof(tcuq_profile, name), exactly(count, sizeof(type), needed)}
    const array_rule all[PROFILE_ARRAYS] = {
        ARRAY(lag_weights_q15, lags *(lags + 1u) / 2u, uint16_t, true),
        ARRAY(selection, rows, uint8_t, false),
        ARRAY(projection, rows *profile->width, int8_t, false),
        ARRAY(projection_bias, rows, int32_t, false),
        ARRAY(whitening, groups *(groups + 1u) * 2u, uint64_t, false),
        ARRAY(whitening_shift, 4u * groups, uint8_t, false),
        ARRAY(means, 4u * groups *profile->mean_count, int16_t, false),
        ARRAY(mean_squares, profile->mean_count, int32_t, false),
        ARRAY(health_means, profile->health_count, int16_t, false),
        ARRAY(health_weights_q9, profile->health_count, uint16_t, false),
    };
#undef ARRAY
    for (size_t i = 0u; i < PROFILE_ARRAYS; i++) {
        rules[i] = all[i];
    }
}

#endif
