/* SPDX-License-Identifier: Apache-2.0 */
/* Novelty: log2(1 + least squared distance to a class mean, under the whitening). */
#include "tcuq_internal.h"

#if TCUQ_WITH_NOVELTY

/* Whitened features saturate to 13 bits, so that 32 squared differences fit in 31. */
#define TCUQ_WHITENED_MAX 4095
#define TCUQ_WHITENED_MIN (-4096)

/* A sum of products in the common unit: times 2^-shift, rounded down, saturated. */
static inline int16_t tcuq_scaled(int32_t sum, int8_t shift)
{
    int32_t value;
    if (shift >= 0) {
        value = tcuq_floor_shift(sum, (uint8_t)shift);
    } else {
        const int32_t most = TCUQ_WHITENED_MAX;
        sum = (sum > most) ? most : ((sum < -most) ? -most : sum);
        value = sum * (int32_t)(1u << (uint8_t)(-shift));
    }
#if TCUQ_DSP
    return (int16_t)__ssat(value, 13);
#else
    value = (value > TCUQ_WHITENED_MAX) ? TCUQ_WHITENED_MAX : value;
    return (int16_t)((value < TCUQ_WHITENED_MIN) ? TCUQ_WHITENED_MIN : value);
#endif
}

/* Row r of the matrix ends after r + 1 entries; the zeros that fill its last word are free. */
static inline uint32_t tcuq_row_end(uint32_t row, uint32_t size)
{
    const uint32_t end = (row + 4u) & ~3u;
    return (end < size) ? end : size;
}

#if TCUQ_DSP

/* Bytes 1 and 3 of a word as two halfwords; the compiler does not find the rotation for free. */
static inline int16x2_t tcuq_odd_bytes(uint32_t word)
{
    int16x2_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
    return halves;
}

/* As below, with the features taken apart once instead of once a row. */
static void tcuq_whiten(const tcuq_profile *profile, const int8_t *features, int16_t *whitened)
{
    int16x2_t halves[TCUQ_MAX_DIMENSIONS / 2u];
    const uint32_t size = profile->dimensions;
    const uint32_t words = size / 4u;
    for (uint32_t w = 0u; w < words; w++) {
        uint32_t four;
        __builtin_memcpy(&four, &features[4u * w], 4);
        halves[2u * w] = __sxtb16((int8x4_t)four);
        halves[2u * w + 1u] = tcuq_odd_bytes(four);
    }
    for (uint32_t row = 0u; row < size; row++) {
        const int8_t *at = &profile->whitening[row * size];
        const uint32_t end = tcuq_row_end(row, size);
        const int16x2_t *half = halves;
        int32_t sum = 0;
#pragma GCC unroll 2
        for (uint32_t w = end / 4u; w != 0u; w--) {
            uint32_t four;
            __builtin_memcpy(&four, at, 4);
            at += 4;
            sum = __smlad(__sxtb16((int8x4_t)four), half[0], sum);
            sum = __smlad(tcuq_odd_bytes(four), half[1], sum);
            half += 2;
        }
        for (uint32_t i = end & ~3u; i < end; i++) {
            sum += (int32_t)profile->whitening[row * size + i] * features[i];
        }
        whitened[row] = tcuq_scaled(sum, profile->whitening_shift[row]);
    }
}

#else

static void tcuq_whiten(const tcuq_profile *profile, const int8_t *features, int16_t *whitened)
{
    const uint32_t size = profile->dimensions;
    for (uint32_t row = 0u; row < size; row++) {
        const int32_t sum =
            tcuq_dot(&profile->whitening[row * size], features, tcuq_row_end(row, size));
        whitened[row] = tcuq_scaled(sum, profile->whitening_shift[row]);
    }
}

#endif

/* Sum of squared differences of at most 32 pairs of 13 bits: < 2^31. */
static inline uint32_t tcuq_squared_distance(const int16_t *left, const int16_t *right, uint32_t count)
{
    uint32_t sum = 0u;
    uint32_t i = 0u;
#if TCUQ_DSP
    int32_t pairs = 0;
#pragma GCC unroll 4
    for (; (i + 2u) <= count; i += 2u) {
        uint32_t a;
        uint32_t b;
        __builtin_memcpy(&a, &left[i], 4);
        __builtin_memcpy(&b, &right[i], 4);
        const int16x2_t gap = __ssub16((int16x2_t)a, (int16x2_t)b);
        pairs = __smlad(gap, gap, pairs);
    }
    sum = (uint32_t)pairs;
#endif
    for (; i < count; i++) {
        const int32_t gap = (int32_t)left[i] - right[i];
        sum += (uint32_t)(gap * gap);
    }
    return sum;
}

int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features)
{
    int16_t whitened[TCUQ_MAX_DIMENSIONS];
    uint32_t least = UINT32_MAX;
    tcuq_whiten(profile, features, whitened);
    for (uint32_t k = 0u; k < profile->mean_count; k++) {
        const int16_t *mean = &profile->means[k * profile->dimensions];
        const uint32_t distance = tcuq_squared_distance(whitened, mean, profile->dimensions);
        least = (distance < least) ? distance : least;
    }
    const uint32_t unit = profile->novelty_unit;
    least = (least > UINT32_MAX - unit) ? UINT32_MAX - unit : least;
    return (int16_t)((int32_t)tcuq_log2_q10(least + unit) - (int32_t)tcuq_log2_q10(unit));
}

#endif
