/* SPDX-License-Identifier: Apache-2.0 */
/* The two loops novelty spends its time in: in C, and by hand for Cortex-M4 and M7 and for M0, where the
 * compiler finds neither loads of several words nor sums in high registers. One meaning, same integers. */
#ifndef TCUQ_PRODUCTS_H
#define TCUQ_PRODUCTS_H

#include "tcuq_simd.h"

/* sums[0..3] of four rows of the whitening, one behind the other, as many quads of columns as there are
 * up to `last`; each begins at sums[0]. The rows behind them. */
/*@ requires 1 <= last - quad <= TCUQ_QUADS && \base_addr(last) == \base_addr(quad) && \valid(sums + (0 .. 3));
    requires \valid_read(quad + (0 .. last - quad - 1)) && \valid_read(weights + (0 .. 4 * (last - quad) - 1));
    requires -0x80000 <= sums[0] <= 0x80000;
    assigns sums[0 .. 3];
    ensures \result == weights + 4 * (last - quad);
    ensures -0x100000 <= sums[0] <= 0x100000 && -0x100000 <= sums[1] <= 0x100000;
    ensures -0x100000 <= sums[2] <= 0x100000 && -0x100000 <= sums[3] <= 0x100000; */
static inline const uint64_t *tcuq_four_rows(const uint64_t *weights, const uint64_t *quad,
                                             const uint64_t *last, int32_t *sums)
{
    int32_t sum0 = sums[0];
    int32_t sum1 = sum0;
    int32_t sum2 = sum0;
    int32_t sum3 = sum0;
#if TCUQ_USE_ASM && TCUQ_DSP
    uint32_t now0;
    uint32_t now1;
    __asm__("1:\n\t"
            "ldrd %[now0], %[now1], [%[quad]], #8\n\t"
            "ldmia %[weights]!, {r4, r5, r6}\n\t"
            "smlad %[sum0], r4, %[now0], %[sum0]\n\t"
            "smlad %[sum0], r5, %[now1], %[sum0]\n\t"
            "smlad %[sum1], r6, %[now0], %[sum1]\n\t"
            "ldmia %[weights]!, {r4, r5, r6}\n\t"
            "smlad %[sum1], r4, %[now1], %[sum1]\n\t"
            "smlad %[sum2], r5, %[now0], %[sum2]\n\t"
            "smlad %[sum2], r6, %[now1], %[sum2]\n\t"
            "ldmia %[weights]!, {r4, r5}\n\t"
            "smlad %[sum3], r4, %[now0], %[sum3]\n\t"
            "smlad %[sum3], r5, %[now1], %[sum3]\n\t"
            "cmp %[quad], %[last]\n\t"
            "bne 1b"
            : [quad] "+r"(quad), [weights] "+r"(weights), [sum0] "+r"(sum0), [sum1] "+r"(sum1),
              [sum2] "+r"(sum2), [sum3] "+r"(sum3), [now0] "=&r"(now0), [now1] "=&r"(now1)
            : [last] "r"(last)
            : "r4", "r5", "r6", "cc", "memory");
#elif TCUQ_USE_ASM
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
            : [last] "l"(last)
            : "r2", "r3", "r4", "r5", "cc", "memory");
#else
    //@ ghost uint32_t column = 0;
    /*@ loop invariant column < last - \at(quad, Pre) && quad == \at(quad, Pre) + column;
        loop invariant weights == \at(weights, Pre) + 4 * column;
        loop invariant -0x80000 - 65536 * column <= sum0 <= 0x80000 + 65536 * column;
        loop invariant -0x80000 - 65536 * column <= sum1 <= 0x80000 + 65536 * column;
        loop invariant -0x80000 - 65536 * column <= sum2 <= 0x80000 + 65536 * column;
        loop invariant -0x80000 - 65536 * column <= sum3 <= 0x80000 + 65536 * column;
        loop assigns column, quad, weights, sum0, sum1, sum2, sum3;
        loop variant TCUQ_QUADS - column; */
    do {
        const uint64_t four = tcuq_next(&quad);
        sum0 = tcuq_multiply_quad(tcuq_next(&weights), four, sum0);
        sum1 = tcuq_multiply_quad(tcuq_next(&weights), four, sum1);
        sum2 = tcuq_multiply_quad(tcuq_next(&weights), four, sum2);
        sum3 = tcuq_multiply_quad(tcuq_next(&weights), four, sum3);
        //@ ghost column++;
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
/*@ requires \valid(one) && \valid(two) && \valid(products + (0 .. 1)) && \separated(one, two, products + (0 .. 1));
    requires \base_addr(end) == \base_addr(*one) && 4 <= end - *one <= TCUQ_MAX_DIMENSIONS && (end - *one) % 4 == 0;
    requires \valid_read(*one + (0 .. end - *one - 1)) && \valid_read(*two + (0 .. 2 * (end - *one) - 1));
    requires \separated(*one + (0 .. end - *one - 1), one, two, products + (0 .. 1));
    requires \separated(*two + (0 .. 2 * (end - *one) - 1), one, two, products + (0 .. 1));
    requires tcuq_13_bits(*one, end - *one) && tcuq_13_bits(*two, end - *one);
    requires tcuq_13_bits(*two + (end - *one), end - *one);
    assigns *one, *two, products[0 .. 1];
    ensures *one == end && *two == \old(*two) + 2 * (end - \old(*one));
    ensures -536739840 <= products[0] <= 0x20000000 && -536739840 <= products[1] <= 0x20000000; */
static inline void tcuq_two_products(const int16_t **one, const int16_t *end, const int16_t **two,
                                     bool eights, int32_t *products)
{
    const int16_t *vector = *one;
    const int16_t *first = *two;
    const int16_t *second = first + (end - vector);
    int32_t product0 = 0;
    int32_t product1 = 0;
#if TCUQ_USE_ASM && TCUQ_DSP
    if (eights) {
        uint32_t mean0;
        uint32_t mean1;
        __asm__("1:\n\t"
                "ldmia %[vector]!, {r4, r5, r6, r8}\n\t"
                "ldrd %[mean0], %[mean1], [%[first]], #8\n\t"
                "smlad %[product0], %[mean0], r4, %[product0]\n\t"
                "smlad %[product0], %[mean1], r5, %[product0]\n\t"
                "ldrd %[mean0], %[mean1], [%[first]], #8\n\t"
                "smlad %[product0], %[mean0], r6, %[product0]\n\t"
                "smlad %[product0], %[mean1], r8, %[product0]\n\t"
                "ldrd %[mean0], %[mean1], [%[second]], #8\n\t"
                "smlad %[product1], %[mean0], r4, %[product1]\n\t"
                "smlad %[product1], %[mean1], r5, %[product1]\n\t"
                "ldrd %[mean0], %[mean1], [%[second]], #8\n\t"
                "smlad %[product1], %[mean0], r6, %[product1]\n\t"
                "smlad %[product1], %[mean1], r8, %[product1]\n\t"
                "cmp %[vector], %[end]\n\t"
                "bne 1b"
                : [vector] "+r"(vector), [first] "+r"(first), [second] "+r"(second),
                  [product0] "+r"(product0), [product1] "+r"(product1), [mean0] "=&r"(mean0),
                  [mean1] "=&r"(mean1)
                : [end] "r"(end)
                : "r4", "r5", "r6", "r8", "cc", "memory");
    }
    while (!eights && (vector != end)) {
#elif TCUQ_USE_ASM
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
    //@ ghost uint32_t count = (uint32_t)(end - vector);
    //@ ghost uint32_t fours = 0;
    /*@ loop invariant 4 * fours <= count && vector == \at(*one, Pre) + 4 * fours;
        loop invariant first == \at(*two, Pre) + 4 * fours && second == \at(*two, Pre) + (count + 4 * fours);
        loop invariant -67092480 * fours <= product0 <= 67108864 * fours;
        loop invariant -67092480 * fours <= product1 <= 67108864 * fours;
        loop assigns fours, vector, first, second, product0, product1;
        loop variant count - 4 * fours; */
    while (vector != end) {
        //@ assert 4 * fours + 4 <= count;
        //@ assert tcuq_fits_13_bits(vector[0]) && tcuq_fits_13_bits(vector[1]) && tcuq_fits_13_bits(vector[2]) && tcuq_fits_13_bits(vector[3]);
        //@ assert tcuq_fits_13_bits(first[0]) && tcuq_fits_13_bits(first[1]) && tcuq_fits_13_bits(first[2]) && tcuq_fits_13_bits(first[3]);
        //@ assert tcuq_fits_13_bits(second[0]) && tcuq_fits_13_bits(second[1]) && tcuq_fits_13_bits(second[2]) && tcuq_fits_13_bits(second[3]);
        //@ assert tcuq_fits_13(vector[0], first[0]) && tcuq_fits_13(vector[1], first[1]);
        //@ assert tcuq_fits_13(vector[2], first[2]) && tcuq_fits_13(vector[3], first[3]);
        //@ assert tcuq_fits_13(vector[0], second[0]) && tcuq_fits_13(vector[1], second[1]);
        //@ assert tcuq_fits_13(vector[2], second[2]) && tcuq_fits_13(vector[3], second[3]);
#endif
#if TCUQ_DSP
        const uint64_t four = tcuq_next_four(&vector);
        product0 = tcuq_multiply_quad(tcuq_next_four(&first), four, product0);
        product1 = tcuq_multiply_quad(tcuq_next_four(&second), four, product1);
#else
        product0 += (int32_t)vector[0] * first[0] + (int32_t)vector[1] * first[1] +
                    (int32_t)vector[2] * first[2] + (int32_t)vector[3] * first[3];
        product1 += (int32_t)vector[0] * second[0] + (int32_t)vector[1] * second[1] +
                    (int32_t)vector[2] * second[2] + (int32_t)vector[3] * second[3];
        vector += 4;
        first += 4;
        second += 4;
        //@ ghost fours++;
#endif
    }
    products[0] = product0;
    products[1] = product1;
    *one = vector;
    *two = second;
}

#endif
