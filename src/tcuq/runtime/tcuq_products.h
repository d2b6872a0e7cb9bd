/* SPDX-License-Identifier: Apache-2.0 */
/* The two loops novelty spends its time in: in C, and by hand for Cortex-M4 and M7 and for M0, where the
 * compiler finds neither loads of several words nor sums in high registers. One meaning, same integers. */
#ifndef TCUQ_PRODUCTS_H
#define TCUQ_PRODUCTS_H

#include "tcuq_simd.h"

/* sums[0..3] of four rows of the whitening, one behind the other, as many quads of columns as there are
 * up to `last`; each begins at sums[0]. The rows behind them. */
static inline const uint64_t *tcuq_four_rows(const uint64_t *weights, const uint64_t *quad,
                                             const uint64_t *last, int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sum0;
    int32_t sum2 = sum0;
    int32_t sum3 = sum0;
#if TCUQ_BY_HAND && TCUQ_DSP
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
            : [quad] "+r"(quad), [weights] "+r"(weights), [sum0] "+r"(sum0), [sum1] "+r"(sum1),
              [sum2] "+r"(sum2), [sum3] "+r"(sum3)
            : [last] "r"(last)
            : "r4", "r5", "r6", "r7", "r8", "r9", "cc", "memory");
#elif TCUQ_BY_HAND
#define TCUQ_ROW(sum)                                                                              \
    "ldmia %[weights]!, {r4, r5}\n\t"                                                              \
    "muls r4, r2\n\t"                                                                              \
    "asrs r4, r4, #16\n\t"                                                                         \
    "add " sum ", r4\n\t"                                                                          \
    "muls r5, r3\n\t"                                                                              \
    "asrs r5, r5, #16\n\t"                                                                         \
    "add " sum ", r5\n\t"
    __asm__(".syntax unified\n"
            "1:\n\t"
            "ldmia %[quad]!, {r2, r3}\n\t"
            TCUQ_ROW("%[sum0]") TCUQ_ROW("%[sum1]") TCUQ_ROW("%[sum2]") TCUQ_ROW("%[sum3]")
            "cmp %[quad], %[last]\n\t"
            "bne 1b"
            : [quad] "+l"(quad), [weights] "+l"(weights), [sum0] "+h"(sum0), [sum1] "+h"(sum1),
              [sum2] "+h"(sum2), [sum3] "+h"(sum3)
            : [last] "h"(last)
            : "r2", "r3", "r4", "r5", "cc", "memory");
#else
    do {
        const uint64_t four = tcuq_next(&quad);
        sum0 = tcuq_multiply_quad(tcuq_next(&weights), four, sum0);
        sum1 = tcuq_multiply_quad(tcuq_next(&weights), four, sum1);
        sum2 = tcuq_multiply_quad(tcuq_next(&weights), four, sum2);
        sum3 = tcuq_multiply_quad(tcuq_next(&weights), four, sum3);
    } while (quad != last);
#endif
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    return weights;
}

/* Products of a vector, which ends at `end`, with two others of the same size that stand one behind the
 * other. The vectors come in fours, if `eights` in eights. Both pointers go to where they end. */
static inline void tcuq_two_products(const int16_t **one, const int16_t *end, const int16_t **two,
                                     bool eights, int32_t *products)
{
    const int16_t *vector = *one;
    const int16_t *first = *two;
    const int16_t *second = first + (end - vector);
    int32_t product0 = 0;
    int32_t product1 = 0;
#if TCUQ_BY_HAND && TCUQ_DSP
    if (eights) {
        __asm__("1:\n\t"
                "ldmia %[vector]!, {r4, r5, r6, r7}\n\t"
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
                "cmp %[vector], %[end]\n\t"
                "bne 1b"
                : [vector] "+r"(vector), [first] "+r"(first), [second] "+r"(second),
                  [product0] "+r"(product0), [product1] "+r"(product1)
                : [end] "r"(end)
                : "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "cc", "memory");
    }
    while (!eights && (vector != end)) {
#elif TCUQ_BY_HAND
#define TCUQ_PAIR(mean, product)                                                                   \
    "ldmia " mean "!, {r5}\n\t"                                                                    \
    "sxth r6, r5\n\t"                                                                              \
    "muls r6, r3\n\t"                                                                              \
    "add " product ", r6\n\t"                                                                      \
    "asrs r5, r5, #16\n\t"                                                                         \
    "muls r5, r4\n\t"                                                                              \
    "add " product ", r5\n\t"
#define TCUQ_PAIRS                                                                                 \
    "ldmia %[vector]!, {r4}\n\t"                                                                   \
    "sxth r3, r4\n\t"                                                                              \
    "asrs r4, r4, #16\n\t" TCUQ_PAIR("%[first]", "%[product0]") TCUQ_PAIR("%[second]", "%[product1]")
    (void)eights;
    __asm__(".syntax unified\n"
            "1:\n\t"
            TCUQ_PAIRS TCUQ_PAIRS
            "cmp %[vector], %[end]\n\t"
            "bne 1b"
            : [vector] "+l"(vector), [first] "+l"(first), [second] "+l"(second),
              [product0] "+h"(product0), [product1] "+h"(product1)
            : [end] "h"(end)
            : "r3", "r4", "r5", "r6", "cc", "memory");
    while (vector != end) {
#else
    (void)eights;
    while (vector != end) {
#endif
#if TCUQ_DSP
        const uint64_t four = tcuq_next_four(&vector);
        product0 = tcuq_multiply_quad(tcuq_next_four(&first), four, product0);
        product1 = tcuq_multiply_quad(tcuq_next_four(&second), four, product1);
#else
        product0 += vector[0] * first[0] + vector[1] * first[1] + vector[2] * first[2] +
                    vector[3] * first[3];
        product1 += vector[0] * second[0] + vector[1] * second[1] + vector[2] * second[2] +
                    vector[3] * second[3];
        vector += 4;
        first += 4;
        second += 4;
#endif
    }
    products[0] = product0;
    products[1] = product1;
    *one = vector;
    *two = second;
}

#endif
