/* SPDX-License-Identifier: Apache-2.0 */
/* Novelty: log2(1 + least squared distance to a class mean, under the whitening). */
#include "tcuq_internal.h"
#include "tcuq_products.h"

#if TCUQ_WITH_NOVELTY

/* Features in quads, the last filled up with zeros. */
static inline uint32_t tcuq_groups(const tcuq_profile *profile)
{
    return (profile->dimensions + 3u) / 4u;
}

/* Four whitened features from their sums, 13 bits each so that 32 squared differences fit in 31. Gives
 * square + the sum of their squares. */
static inline int32_t tcuq_finish_rows(const int32_t *sums, const uint8_t *shift, int16_t *whitened,
                                       int32_t square)
{
    const int32_t value0 = tcuq_saturate_13(tcuq_floor_shift(sums[0], shift[0]));
    const int32_t value1 = tcuq_saturate_13(tcuq_floor_shift(sums[1], shift[1]));
    const int32_t value2 = tcuq_saturate_13(tcuq_floor_shift(sums[2], shift[2]));
    const int32_t value3 = tcuq_saturate_13(tcuq_floor_shift(sums[3], shift[3]));
#if TCUQ_DSP
    const uint64_t quad = tcuq_quad(tcuq_pair(value0, value1), tcuq_pair(value2, value3));
    __builtin_memcpy(whitened, &quad, 8);
    return tcuq_multiply_quad(quad, quad, square);
#else
    whitened[0] = (int16_t)value0;
    whitened[1] = (int16_t)value1;
    whitened[2] = (int16_t)value2;
    whitened[3] = (int16_t)value3;
    return square + value0 * value0 + value1 * value1 + value2 * value2 + value3 * value3;
#endif
}

/* Whitened features, four rows at a time, and the sum of their squares. */
static TCUQ_OWN_FRAME int32_t tcuq_whiten(const tcuq_profile *profile, const uint64_t *quads,
                                          int16_t *whitened)
{
    const uint64_t *weights = profile->whitening;
    const uint8_t *shift = profile->whitening_shift;
    const uint64_t *last = quads;
    const uint64_t *end = &quads[tcuq_groups(profile)];
    int32_t offset = 0; /* what TCUQ_OFFSET adds to a sum */
    int32_t square = 0;
    do {
        int32_t sums[4];
        offset = tcuq_multiply_quad(TCUQ_OFFSET, *last, offset);
        last++;
        sums[0] = -offset;
        weights = tcuq_four_rows(weights, quads, last, sums);
        square = tcuq_finish_rows(sums, shift, whitened, square);
        shift += 4;
        whitened += 4;
    } while (last != end);
    return square;
}

/* The least |x - m|^2 - |x|^2 = |m|^2 - 2 x · m, exactly; two means at a time. */
static inline int32_t tcuq_least(const tcuq_profile *profile, const int16_t *whitened, bool eights)
{
    const uint32_t count = 4u * tcuq_groups(profile);
    const int16_t *end = &whitened[count];
    const int16_t *mean = profile->means;
    const int32_t *square = profile->mean_squares;
    const int32_t *squares_end = &square[profile->mean_count];
    int32_t least = INT32_MAX;
    do {
        int32_t products[2];
        tcuq_two_products(&whitened, end, &mean, eights, products);
        whitened -= count;
        const int32_t bracket0 = square[0] - 2 * products[0];
        const int32_t bracket1 = square[1] - 2 * products[1];
        least = (bracket0 < least) ? bracket0 : least;
        least = (bracket1 < least) ? bracket1 : least;
        square += 2;
    } while (square != squares_end);
    return least;
}

static TCUQ_OWN_FRAME int32_t tcuq_nearest(const tcuq_profile *profile, const int16_t *whitened)
{
    return tcuq_least(profile, whitened, false);
}

#if TCUQ_BY_HAND && TCUQ_DSP
static TCUQ_OWN_FRAME int32_t tcuq_nearest_eights(const tcuq_profile *profile,
                                                  const int16_t *whitened)
{
    return tcuq_least(profile, whitened, true);
}
#endif

bool tcuq_novelty_sound(const tcuq_profile *profile)
{
    if (profile->whitening == NULL) {
        return true;
    }
    const uint32_t groups = tcuq_groups(profile);
    bool sound = (groups != 0u) && (profile->whitening_shift != NULL) && (profile->means != NULL) &&
                 (profile->mean_squares != NULL) && (profile->mean_count != 0u) &&
                 ((profile->mean_count & 1u) == 0u) && (profile->novelty_exponent <= 24u);
#if TCUQ_DSP || TCUQ_BY_HAND
    sound = sound && (((uintptr_t)profile->means & 3u) == 0u);
#endif
    for (uint32_t i = 0u; sound && (i < (4u * groups)); i++) {
        sound = profile->whitening_shift[i] <= 30u;
    }
    const int16_t *mean = profile->means;
    for (uint32_t k = 0u; sound && (k < profile->mean_count); k++) {
        uint32_t square = 0u;
        for (uint32_t i = 0u; sound && (i < (4u * groups)); i++) {
            const int32_t value = mean[i];
            sound = value == tcuq_saturate_13(value);
            square += (uint32_t)(value * value);
        }
        mean += 4u * groups;
        sound = sound && ((uint32_t)profile->mean_squares[k] == square);
    }
    return sound;
}

/* Features to quads, the last filled with zeros. */
static TCUQ_OWN_FRAME void tcuq_take_apart(const int8_t *features, uint32_t count, uint64_t *quads)
{
    uint32_t left = count;
#if !defined(__OPTIMIZE_SIZE__)
    for (; left >= 8u; left -= 8u) {
        quads[0] = tcuq_take_four(features);
        quads[1] = tcuq_take_four(&features[4]);
        quads += 2;
        features += 8;
    }
#endif
    while (left != 0u) {
        int8_t four[4] = {0, 0, 0, 0};
        for (uint32_t i = 0u; (i < 4u) && (left != 0u); i++) {
            four[i] = *features;
            features++;
            left--;
        }
        *quads = tcuq_take_four(four);
        quads++;
    }
}

int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features)
{
    uint64_t quads[TCUQ_QUADS];
    int16_t whitened[TCUQ_MAX_DIMENSIONS] TCUQ_WORD_ALIGNED;
    tcuq_take_apart(features, profile->dimensions, quads);
    const int32_t square = tcuq_whiten(profile, quads, whitened);
#if TCUQ_BY_HAND && TCUQ_DSP
    const int32_t apart = ((tcuq_groups(profile) & 1u) == 0u) ? tcuq_nearest_eights(profile, whitened)
                                                              : tcuq_nearest(profile, whitened);
#else
    const int32_t apart = tcuq_nearest(profile, whitened);
#endif
    const uint32_t distance = (uint32_t)(square + apart);
    const uint32_t exponent = profile->novelty_exponent;
    return (int16_t)((int32_t)tcuq_log2_q10(distance + ((uint32_t)1u << exponent)) -
                     (int32_t)(exponent << 10));
}

#endif
