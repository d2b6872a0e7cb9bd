/* SPDX-License-Identifier: Apache-2.0 */
/* The few DSP instructions the runtime uses, in plain C, so that the code around them can be fuzzed on
 * the host. A sum that an instruction would wrap is a finding. */
#ifndef FUZZ_ARM_ACLE_H
#define FUZZ_ARM_ACLE_H

#include <stdint.h>

typedef uint32_t int8x4_t;
typedef uint32_t int16x2_t;

static inline int32_t fuzz_signed(uint32_t value, uint32_t bits)
{
    const int64_t half = (int64_t)1 << (bits - 1u);
    const int64_t low = (int64_t)(value & (uint32_t)(2 * half - 1));
    return (int32_t)((low >= half) ? low - 2 * half : low);
}

static inline uint32_t fuzz_pair(int32_t low, int32_t high)
{
    return (uint32_t)(((uint64_t)(int64_t)high & 0xFFFFu) << 16 | ((uint64_t)(int64_t)low & 0xFFFFu));
}

static inline uint32_t fuzz_rotate_8(uint32_t word)
{
    return (uint32_t)(((uint64_t)word << 24 | word >> 8) & 0xFFFFFFFFu);
}

static inline int16x2_t __sxtb16(int8x4_t four)
{
    return fuzz_pair(fuzz_signed(four, 8u), fuzz_signed(four >> 16, 8u));
}

static inline int32_t __smlad(int16x2_t a, int16x2_t b, int32_t sum)
{
    const int64_t low = (int64_t)fuzz_signed(a, 16u) * fuzz_signed(b, 16u);
    const int64_t high = (int64_t)fuzz_signed(a >> 16, 16u) * fuzz_signed(b >> 16, 16u);
    const int64_t whole = sum + low + high;
    if ((whole > INT32_MAX) || (whole < INT32_MIN)) {
        __builtin_trap();
    }
    return (int32_t)whole;
}

static inline uint32_t __uhadd8(uint32_t a, uint32_t b)
{
    uint32_t all = 0u;
    for (uint32_t at = 0u; at < 32u; at += 8u) {
        all |= ((((a >> at) & 255u) + ((b >> at) & 255u)) >> 1) << at;
    }
    return all;
}

static inline uint32_t __uadd8(uint32_t a, uint32_t b)
{
    uint32_t all = 0u;
    for (uint32_t at = 0u; at < 32u; at += 8u) {
        all |= ((((a >> at) & 255u) + ((b >> at) & 255u)) & 255u) << at;
    }
    return all;
}

static inline int32_t fuzz_saturate(int32_t value, int32_t bits)
{
    const int32_t most = (1 << (bits - 1)) - 1;
    return (value > most) ? most : ((value < -most - 1) ? -most - 1 : value);
}

static inline uint32_t __usat(int32_t value, uint32_t bits)
{
    const int32_t most = (int32_t)((1u << bits) - 1u);
    return (uint32_t)((value > most) ? most : ((value < 0) ? 0 : value));
}

#define __builtin_arm_ssat(value, bits) fuzz_saturate(value, bits)

#endif
