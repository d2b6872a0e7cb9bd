/* SPDX-License-Identifier: Apache-2.0 */
/* The few functions the stages share. Errors are of the last bit stated, over the whole domain. */
#include "tcuq_internal.h"

#if !defined(__ARM_FEATURE_CLZ) || defined(__FRAMAC__)
uint32_t tcuq_leading_zeros(uint32_t value)
{
    uint32_t zeros = 0u;
    if ((value >> 16) == 0u) {
        value <<= 16;
        zeros = 16u;
    }
    if ((value >> 24) == 0u) {
        value <<= 8;
        zeros += 8u;
    }
    if ((value >> 28) == 0u) {
        value <<= 4;
        zeros += 4u;
    }
    if ((value >> 30) == 0u) {
        value <<= 2;
        zeros += 2u;
    }
    return zeros + (1u - (value >> 31));
}
#endif

/* (integer, Q10) log2 of 1..2^32-1, rounded down between 33 points; error <= 1.4 last bits. */
uint16_t tcuq_log2_q10(uint32_t value)
{
    const uint32_t zeros = tcuq_leading_zeros(value);
    const uint32_t mantissa = value << zeros;
    const uint32_t index = (mantissa >> 26) & 31u;
    const uint32_t fraction = (mantissa >> 16) & 1023u;
    const uint32_t low = tcuq_log2_q15[index];
    const uint32_t high = tcuq_log2_q15[index + 1u];
    const uint32_t between = (low << 10) + (high - low) * fraction; /* Q25 */
    return (uint16_t)(((31u - zeros) << 10) + (between >> 15));
}

/* (Q30 in [2^28, 2^30), Q14 in (2^14, 2^15]) 1/sqrt; error <= 3 last bits. */
uint16_t tcuq_rsqrt_q14(uint32_t normalised)
{
    const uint32_t value = normalised >> 14; /* Q16 in [2^14, 2^16) */
    uint32_t root = (uint32_t)tcuq_rsqrt_seed[(value >> 11) - 8u] << 7;
    /*@ loop invariant turn <= 2;
        loop assigns turn, root;
        loop variant 2 - turn; */
    for (uint8_t turn = 0u; turn < 2u; turn++) {
        const uint32_t square = (root * root) >> 15;     /* Q13 */
        const uint32_t product = (value * square) >> 15; /* Q14, near 1 */
        root = (root * ((3u << 14) - product)) >> 15;
    }
    return (uint16_t)root;
}

/* (Q16, Q16) 1 / (1 + exp(-x)), linear between points 1/4 apart up to 8; error <= 7e-4. */
uint32_t tcuq_sigmoid(int32_t logit_q16)
{
    const bool negative = logit_q16 < 0;
    uint32_t size = (uint32_t)(negative ? -logit_q16 : logit_q16);
    if (size > ((uint32_t)8u << 16)) {
        size = (uint32_t)8u << 16;
    }
    const uint32_t index = size >> 14;
    const uint32_t fraction = size & 16383u;
    const uint32_t low = tcuq_sigmoid_q16[index];
    const uint32_t high = tcuq_sigmoid_q16[index + 1u];
    const uint32_t value = low + (((high - low) * fraction) >> 14);
    return negative ? 65536u - value : value;
}
