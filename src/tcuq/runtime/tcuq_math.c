/* SPDX-License-Identifier: Apache-2.0 */
/* The few functions the stages share. Errors are of the last bit stated, over the whole domain. */
#include "tcuq_internal.h"

/* (integer, Q10) log2 of 1..2^32-1, rounded down between 33 points; error <= 1.4 last bits. */
uint16_t tcuq_log2_q10(uint32_t value)
{
    uint32_t mantissa = value;
    uint32_t exponent = 31u;
    if ((mantissa >> 16) == 0u) {
        mantissa <<= 16;
        exponent -= 16u;
    }
    if ((mantissa >> 24) == 0u) {
        mantissa <<= 8;
        exponent -= 8u;
    }
    if ((mantissa >> 28) == 0u) {
        mantissa <<= 4;
        exponent -= 4u;
    }
    if ((mantissa >> 30) == 0u) {
        mantissa <<= 2;
        exponent -= 2u;
    }
    if ((mantissa >> 31) == 0u) {
        mantissa <<= 1;
        exponent -= 1u;
    }
    const uint32_t index = (mantissa >> 26) & 31u;
    const uint32_t fraction = (mantissa >> 16) & 1023u;
    const uint32_t low = tcuq_log2_q15[index];
    const uint32_t high = tcuq_log2_q15[index + 1u];
    const uint32_t between = (low << 10) + (high - low) * fraction; /* Q25 */
    return (uint16_t)((exponent << 10) + (between >> 15));
}

/* (Q30 in [2^28, 2^30), Q14 in (2^14, 2^15]) 1/sqrt; error <= 3 last bits. */
uint16_t tcuq_rsqrt_q14(uint32_t normalised)
{
    const uint32_t value = normalised >> 14; /* Q16 in [2^14, 2^16) */
    uint32_t root = (uint32_t)tcuq_rsqrt_seed[(value >> 11) - 8u] << 7;
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
    if (size > (8u << 16)) {
        size = 8u << 16;
    }
    const uint32_t index = size >> 14;
    const uint32_t fraction = size & 16383u;
    const uint32_t low = tcuq_sigmoid_q16[index];
    const uint32_t high = tcuq_sigmoid_q16[index + 1u];
    const uint32_t value = low + (((high - low) * fraction) >> 14);
    return negative ? 65536u - value : value;
}
