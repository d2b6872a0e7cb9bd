/* SPDX-License-Identifier: Apache-2.0 */
/* Novelty: log2(1 + least squared distance to a class mean, under the whitening). */
#include "tcuq_internal.h"

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
        const uint64_t *quad = quads;
        offset = tcuq_multiply_quad(TCUQ_OFFSET, *last, offset);
        last++;
        int32_t sum0 = -offset;
        int32_t sum1 = sum0;
        int32_t sum2 = sum0;
        int32_t sum3 = sum0;
#if TCUQ_MULTIPLE
        __asm__("1:\n\t"
                "ldrd r4, r5, [%[quad]], #8\n\t"
                "ldmia %[weights]!, {r6, r7, r8, r9}\n\t"
                "smlad %[sum0], r6, r4, %[sum0]\n\t"
                "smlad %[sum0], r7, r5, %[sum0]\n\t"
                "smlad %[sum1], r8, r4, %[sum1]\n\t"
                "smlad %[sum1], r9, r5, %[sum1]\n\t"
                "ldmia %[weights]!, {r6, r7, r8, r9}\n\t"
                "smlad %[sum2], r6, r4, %[sum2]\n\t"
                "smlad %[sum2], r7, r5, %[sum2]\n\t"
                "smlad %[sum3], r8, r4, %[sum3]\n\t"
                "smlad %[sum3], r9, r5, %[sum3]\n\t"
                "cmp %[quad], %[last]\n\t"
                "bne 1b"
                : [quad] "+r"(quad), [weights] "+r"(weights), [sum0] "+r"(sum0),
                  [sum1] "+r"(sum1), [sum2] "+r"(sum2), [sum3] "+r"(sum3)
                : [last] "r"(last)
                : "r4", "r5", "r6", "r7", "r8", "r9", "cc", "memory");
#else
        do {
            const uint64_t four = tcuq_next(&quad);
            sum0 = tcuq_multiply_quad(tcuq_next(&weights), four, sum0);
            sum1 = tcuq_multiply_quad(tcuq_next(&weights), four, sum1);
            sum2 = tcuq_multiply_quad(tcuq_next(&weights), four, sum2);
            sum3 = tcuq_multiply_quad(tcuq_next(&weights), four, sum3);
        } while (quad != last);
#endif
        const int32_t sums[4] = {sum0, sum1, sum2, sum3};
        square = tcuq_finish_rows(sums, shift, whitened, square);
        shift += 4;
        whitened += 4;
    } while (last != end);
    return square;
}

/* Products of one vector with two others that stand one behind the other, `count` values each; what
 * stands behind them. */
static inline const int16_t *tcuq_two_products(const int16_t *one, const int16_t *two, uint32_t count,
                                               int32_t *products)
{
    const int16_t *second = &two[count];
    const int16_t *end = &one[count];
    int32_t product0 = 0;
    int32_t product1 = 0;
    do {
#if TCUQ_DSP
        const uint64_t four = tcuq_next_four(&one);
        product0 = tcuq_multiply_quad(tcuq_next_four(&two), four, product0);
        product1 = tcuq_multiply_quad(tcuq_next_four(&second), four, product1);
#else
        product0 += one[0] * two[0] + one[1] * two[1] + one[2] * two[2] + one[3] * two[3];
        product1 += one[0] * second[0] + one[1] * second[1] + one[2] * second[2] + one[3] * second[3];
        one += 4;
        two += 4;
        second += 4;
#endif
    } while (one != end);
    products[0] = product0;
    products[1] = product1;
    return second;
}

/* The least |x - m|^2 - |x|^2 = |m|^2 - 2 x · m, exactly; two means at a time. */
static TCUQ_OWN_FRAME int32_t tcuq_nearest(const tcuq_profile *profile, const int16_t *whitened)
{
    const uint32_t count = 4u * tcuq_groups(profile);
    const int16_t *mean = profile->means;
    const int32_t *square = profile->mean_squares;
    const int32_t *end = &square[profile->mean_count];
    int32_t least = INT32_MAX;
    do {
        int32_t products[2];
        mean = tcuq_two_products(whitened, mean, count, products);
        const int32_t bracket0 = square[0] - 2 * products[0];
        const int32_t bracket1 = square[1] - 2 * products[1];
        least = (bracket0 < least) ? bracket0 : least;
        least = (bracket1 < least) ? bracket1 : least;
        square += 2;
    } while (square != end);
    return least;
}

#if TCUQ_MULTIPLE

/* The same of values that come in eights. */
static TCUQ_OWN_FRAME int32_t tcuq_nearest_eights(const tcuq_profile *profile,
                                                  const int16_t *whitened)
{
    const uint32_t count = 4u * tcuq_groups(profile);
    const int16_t *end = &whitened[count];
    const int16_t *mean = profile->means;
    const int32_t *square = profile->mean_squares;
    const int32_t *squares_end = &square[profile->mean_count];
    int32_t least = INT32_MAX;
    do {
        const int16_t *first = mean;
        int32_t product0 = 0;
        int32_t product1 = 0;
        mean += count;
        __asm__("1:\n\t"
                "ldmia %[one]!, {r4, r5, r6, r7}\n\t"
                "ldmia %[first]!, {r8, r9, r10, r11}\n\t"
                "smlad %[product0], r8, r4, %[product0]\n\t"
                "smlad %[product0], r9, r5, %[product0]\n\t"
                "smlad %[product0], r10, r6, %[product0]\n\t"
                "smlad %[product0], r11, r7, %[product0]\n\t"
                "ldmia %[second]!, {r8, r9, r10, r11}\n\t"
                "smlad %[product1], r8, r4, %[product1]\n\t"
                "smlad %[product1], r9, r5, %[product1]\n\t"
                "smlad %[product1], r10, r6, %[product1]\n\t"
                "smlad %[product1], r11, r7, %[product1]\n\t"
                "cmp %[one], %[end]\n\t"
                "bne 1b"
                : [one] "+r"(whitened), [first] "+r"(first), [second] "+r"(mean),
                  [product0] "+r"(product0), [product1] "+r"(product1)
                : [end] "r"(end)
                : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "cc", "memory");
        whitened -= count;
        const int32_t bracket0 = square[0] - 2 * product0;
        const int32_t bracket1 = square[1] - 2 * product1;
        least = (bracket0 < least) ? bracket0 : least;
        least = (bracket1 < least) ? bracket1 : least;
        square += 2;
    } while (square != squares_end);
    return least;
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
    tcuq_take_apart(features, profile->dimensions, quads);
    const int32_t square = tcuq_whiten(profile, quads, whitened);
#if TCUQ_MULTIPLE
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
