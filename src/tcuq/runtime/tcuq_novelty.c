/* SPDX-License-Identifier: Apache-2.0 */
/* Novelty: log2(1 + least squared distance to a class mean, under the whitening). */
#include "tcuq_internal.h"

#if TCUQ_WITH_NOVELTY

/* Whitened features, 13 bits each so that 32 squared differences fit in 31, four rows at a
 * time. */
static TCUQ_OWN_FRAME void tcuq_whiten(const tcuq_profile *profile, const uint64_t *quads,
                                       uint32_t groups, int16_t *whitened)
{
    const uint64_t *weights = profile->whitening;
    const uint8_t *shift = profile->whitening_shift;
    const uint64_t *last = quads;
    const uint64_t *end = &quads[groups];
    int32_t offset = 0; /* what TCUQ_OFFSET adds to a sum */
    do {
        const uint64_t *quad = quads;
        offset = tcuq_multiply_quad(TCUQ_OFFSET, *last, offset);
        last++;
        int32_t sum0 = -offset;
        int32_t sum1 = sum0;
        int32_t sum2 = sum0;
        int32_t sum3 = sum0;
        do {
            const uint64_t four = tcuq_next(&quad);
            sum0 = tcuq_multiply_quad(tcuq_next(&weights), four, sum0);
            sum1 = tcuq_multiply_quad(tcuq_next(&weights), four, sum1);
            sum2 = tcuq_multiply_quad(tcuq_next(&weights), four, sum2);
            sum3 = tcuq_multiply_quad(tcuq_next(&weights), four, sum3);
        } while (quad != last);
        whitened[0] = (int16_t)tcuq_saturate_13(tcuq_floor_shift(sum0, shift[0]));
        whitened[1] = (int16_t)tcuq_saturate_13(tcuq_floor_shift(sum1, shift[1]));
        whitened[2] = (int16_t)tcuq_saturate_13(tcuq_floor_shift(sum2, shift[2]));
        whitened[3] = (int16_t)tcuq_saturate_13(tcuq_floor_shift(sum3, shift[3]));
        shift += 4;
        whitened += 4;
    } while (last != end);
}

/* Products of one vector with two others that stand one behind the other, `count` values each. */
static inline void tcuq_two_products(const int16_t *one, const int16_t *two, uint32_t count,
                                     int32_t *products)
{
    const int16_t *second = &two[count];
    int32_t product0 = 0;
    int32_t product1 = 0;
#if TCUQ_DSP
    const int16_t *end = &one[count];
    do {
        const uint64_t four = tcuq_next_four(&one);
        product0 = tcuq_multiply_quad(tcuq_next_four(&two), four, product0);
        product1 = tcuq_multiply_quad(tcuq_next_four(&second), four, product1);
    } while (one != end);
#elif defined(__ARM_ARCH_6M__) /* its signed loads take an index and no offset */
    TCUQ_UNROLL_4
    for (uint32_t i = 0u; i < count; i++) {
        const int32_t value = one[i];
        product0 += value * two[i];
        product1 += value * second[i];
    }
#else
    const int16_t *end = &one[count];
    do {
        product0 += one[0] * two[0] + one[1] * two[1] + one[2] * two[2] + one[3] * two[3];
        product1 += one[0] * second[0] + one[1] * second[1] + one[2] * second[2] + one[3] * second[3];
        one += 4;
        two += 4;
        second += 4;
    } while (one != end);
#endif
    products[0] = product0;
    products[1] = product1;
}

static inline int32_t tcuq_square(const int16_t *values, uint32_t count)
{
    const int16_t *end = &values[count];
    int32_t sum = 0;
    do {
#if TCUQ_DSP
        const uint64_t four = tcuq_next_four(&values);
        sum = tcuq_multiply_quad(four, four, sum);
#else
        sum += values[0] * values[0] + values[1] * values[1] + values[2] * values[2] +
               values[3] * values[3];
        values += 4;
#endif
    } while (values != end);
    return sum;
}

/* The least |x - m|^2 = |x|^2 + (|m|^2 - 2 x · m), exactly; two means at a time. */
static TCUQ_OWN_FRAME uint32_t tcuq_nearest(const tcuq_profile *profile, const int16_t *whitened,
                                           uint32_t count)
{
    const int16_t *mean = profile->means;
    const int32_t *square = profile->mean_squares;
    const int32_t *end = &square[profile->mean_count];
    int32_t least = INT32_MAX;
    do {
        int32_t products[2];
        tcuq_two_products(whitened, mean, count, products);
        const int32_t bracket0 = square[0] - 2 * products[0];
        const int32_t bracket1 = square[1] - 2 * products[1];
        least = (bracket0 < least) ? bracket0 : least;
        least = (bracket1 < least) ? bracket1 : least;
        mean += 2u * count;
        square += 2;
    } while (square != end);
    return (uint32_t)(least + tcuq_square(whitened, count));
}

bool tcuq_novelty_sound(const tcuq_profile *profile)
{
    if (profile->whitening == NULL) {
        return true;
    }
    const uint32_t groups = (profile->dimensions + 3u) / 4u;
    bool sound = (groups != 0u) && (profile->whitening_shift != NULL) && (profile->means != NULL) &&
                 (profile->mean_squares != NULL) && (profile->mean_count != 0u) &&
                 ((profile->mean_count & 1u) == 0u) && (profile->novelty_exponent <= 24u);
#if TCUQ_DSP
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
    for (; left >= 4u; left -= 4u) {
        *quads = tcuq_take_four(features);
        quads++;
        features += 4;
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
    const uint32_t groups = (profile->dimensions + 3u) / 4u;
    const uint32_t exponent = profile->novelty_exponent;
    tcuq_take_apart(features, profile->dimensions, quads);
    tcuq_whiten(profile, quads, groups, whitened);
    const uint32_t distance = tcuq_nearest(profile, whitened, 4u * groups);
    return (int16_t)((int32_t)tcuq_log2_q10(distance + ((uint32_t)1u << exponent)) -
                     (int32_t)(exponent << 10));
}

#endif
