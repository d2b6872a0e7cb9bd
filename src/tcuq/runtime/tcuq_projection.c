/* SPDX-License-Identifier: Apache-2.0 */
/* Projection of wide features to those that the signals see, four rows at a time. */
#include "tcuq_internal.h"

#if TCUQ_WITH_PROJECTION

#if TCUQ_FOURS

/* sum + the products of four weights, at an address in brackets, with the current four features. */
#define TCUQ_WEIGHTS(address, sum)                         \
    "ldr %[word], " address "\n\t"                         \
    "sxtb16 %[half], %[word]\n\t"                          \
    "smlad " sum ", %[half], %[even], " sum "\n\t"         \
    "sxtb16 %[word], %[word], ror #8\n\t"                  \
    "smlad " sum ", %[word], %[odd], " sum "\n\t"

#endif

/* Wide features times four rows of weights that stand `stride` apart, added to the sums. */
/*@ requires width <= 65535 && stride <= 65535 && \valid(sums + (0 .. 3));
    requires \valid_read(wide + (0 .. width - 1)) && \valid_read(weights + (0 .. 3 * stride + width - 1));
    requires \forall integer k; 0 <= k < 4 ==> -0x20000000 <= sums[k] <= 0x20000000;
    assigns sums[0 .. 3]; */
static inline void tcuq_add_four_rows(const int8_t *weights, uint32_t stride, const int8_t *wide,
                                      uint32_t width, int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sums[1];
    int32_t sum2 = sums[2];
    int32_t sum3 = sums[3];
#if TCUQ_FOURS
    const int8_t *end = &wide[width & ~3u];
#if TCUQ_USE_ASM
    int32_t word;
    int32_t half;
    int32_t even;
    int32_t odd;
    if (wide != end) {
        __asm__("1:\n\t"
                "ldr %[word], [%[wide]], #4\n\t"
                "sxtb16 %[even], %[word]\n\t"
                "sxtb16 %[odd], %[word], ror #8\n\t"
                "add %[half], %[weights], %[stride]\n\t"
                TCUQ_WEIGHTS("[%[half], %[stride], lsl #1]", "%[sum3]")
                TCUQ_WEIGHTS("[%[weights], %[stride], lsl #1]", "%[sum2]")
                TCUQ_WEIGHTS("[%[weights], %[stride]]", "%[sum1]")
                TCUQ_WEIGHTS("[%[weights]], #4", "%[sum0]")
                "cmp %[wide], %[end]\n\t"
                "bne 1b"
                : [wide] "+r"(wide), [weights] "+r"(weights), [sum0] "+r"(sum0), [sum1] "+r"(sum1),
                  [sum2] "+r"(sum2), [sum3] "+r"(sum3), [word] "=&r"(word), [half] "=&r"(half),
                  [even] "=&r"(even), [odd] "=&r"(odd)
                : [stride] "r"(stride), [end] "r"(end)
                : "cc", "memory");
    }
#else
    while (wide != end) {
        const uint64_t quad = tcuq_take_four(wide);
        sum0 = tcuq_multiply_quad(tcuq_take_four(weights), quad, sum0);
        sum1 = tcuq_multiply_quad(tcuq_take_four(&weights[stride]), quad, sum1);
        sum2 = tcuq_multiply_quad(tcuq_take_four(&weights[2u * stride]), quad, sum2);
        sum3 = tcuq_multiply_quad(tcuq_take_four(&weights[3u * stride]), quad, sum3);
        weights += 4;
        wide += 4;
    }
#endif
    width &= 3u;
#endif
    /*@ loop invariant i <= width;
        loop invariant -0x20000000 - 16384 * i <= sum0 <= 0x20000000 + 16384 * i;
        loop invariant -0x20000000 - 16384 * i <= sum1 <= 0x20000000 + 16384 * i;
        loop invariant -0x20000000 - 16384 * i <= sum2 <= 0x20000000 + 16384 * i;
        loop invariant -0x20000000 - 16384 * i <= sum3 <= 0x20000000 + 16384 * i;
        loop assigns i, sum0, sum1, sum2, sum3;
        loop variant width - i; */
    for (uint32_t i = 0u; i < width; i++) {
        const int32_t feature = wide[i];
        //@ assert -16384 <= tcuq_cells(weights[i], feature) <= 16384;
        //@ assert -16384 <= tcuq_cells(weights[stride + i], feature) <= 16384;
        //@ assert -16384 <= tcuq_cells(weights[2 * stride + i], feature) <= 16384;
        //@ assert -16384 <= tcuq_cells(weights[3 * stride + i], feature) <= 16384;
        sum0 += weights[i] * feature;
        sum1 += weights[stride + i] * feature;
        sum2 += weights[(2u * stride) + i] * feature;
        sum3 += weights[(3u * stride) + i] * feature;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

/* Four rows of the projection from `row` on, or four times the same: (weights · features + bias) / 2^shift,
 * rounded, saturated. */
/*@ requires tcuq_projection_given(profile) && tcuq_features_ok(profile) && profile->projection != \null;
    requires \valid_read(wide + (0 .. profile->width - 1)) && \valid(sums + (0 .. 3));
    requires next <= 1 && row + 3 * next < profile->dimensions;
    assigns sums[0 .. 3];
    ensures \forall integer k; 0 <= k < 4 ==> -127 <= sums[k] <= 127; */
static inline void tcuq_project_four(const tcuq_profile *profile, const int8_t *wide, uint32_t row,
                                     uint32_t next, int32_t *sums)
{
    const uint32_t width = profile->width;
    const uint32_t stride = (next != 0u) ? width : 0u;
    //@ assert row * width == tcuq_cells(row, width);
    //@ assert tcuq_cells(row + 3 * next, width) == tcuq_cells(row, width) + 3 * stride;
    //@ assert tcuq_cells(row + 3 * next, width) + width <= tcuq_cells(profile->dimensions, width);
    //@ assert tcuq_cells(profile->dimensions, width) <= 32 * 65535;
    const int8_t *weights = &profile->projection[row * width];
    const uint8_t shift = profile->projection_shift;
    const int32_t *biases = &profile->projection_bias[row];
    const int32_t bias0 = biases[0];
    const int32_t bias1 = biases[next];
    const int32_t bias2 = biases[2u * next];
    const int32_t bias3 = biases[3u * next];
    sums[0] = bias0;
    sums[1] = bias1;
    sums[2] = bias2;
    sums[3] = bias3;
    tcuq_add_four_rows(weights, stride, wide, width, sums);
    /*@ loop invariant k <= 4;
        loop invariant \forall integer j; 0 <= j < k ==> -127 <= sums[j] <= 127;
        loop assigns k, sums[0 .. 3];
        loop variant 4 - k; */
    TCUQ_UNROLL_4
    for (uint32_t k = 0u; k < 4u; k++) {
        const int32_t value = tcuq_saturate_8(tcuq_floor_shift(sums[k], shift));
        sums[k] = (value == INT8_MIN) ? -127 : value;
    }
}

/* Wide features, projected, take the place of old ones. Gives the product of the two. */
int32_t tcuq_project(const tcuq_profile *profile, const int8_t *wide, int8_t *old)
{
    const uint32_t count = profile->dimensions;
    int32_t product = 0;
    uint32_t row = 0u;
    /*@ loop invariant row <= count && -16384 * row <= product <= 16384 * row;
        loop assigns row, product, old[0 .. count - 1];
        loop variant count - row; */
    while (row < count) {
        int32_t projected[4];
        const uint32_t next = ((count - row) >= 4u) ? (uint32_t)1u : (uint32_t)0u;
        const uint32_t rows = 1u + (3u * next);
        tcuq_project_four(profile, wide, row, next, projected);
        /*@ loop invariant k <= rows && row == \at(row, LoopEntry) + k;
            loop invariant -16384 * row <= product <= 16384 * row;
            loop assigns k, row, product, old[0 .. count - 1];
            loop variant rows - k; */
        for (uint32_t k = 0u; k < rows; k++) {
            //@ assert -16384 <= tcuq_cells(projected[k], old[row]) <= 16384;
            product += projected[k] * old[row];
            old[row] = (int8_t)projected[k];
            row++;
        }
    }
    return product;
}

#endif
