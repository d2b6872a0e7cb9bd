/* SPDX-License-Identifier: Apache-2.0 */
/* Several small numbers at once: one meaning, by the DSP instructions of Cortex-M4 and M7 or by plain C.
 *
 * Features go in quads (f0, f1, f2, f3), the last filled with zeros. A quad is two words, each a pair,
 * (f0, f2) and (f1, f3), because one instruction can multiply and add a pair. */
#ifndef TCUQ_SIMD_H
#define TCUQ_SIMD_H

#include "tcuq.h"

#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__) && !defined(__FRAMAC__)
#include <arm_acle.h>
#define TCUQ_DSP 1
#else
#define TCUQ_DSP 0
#endif

/* An unlikely condition: the compiler does not start the guarded work before it is known. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define TCUQ_UNLIKELY(condition) (__builtin_expect((condition), 0) != 0)
#else
#define TCUQ_UNLIKELY(condition) (condition)
#endif

/* Where speed is asked for, not size, and words need no alignment: a second loop for what comes in fours. */
#if TCUQ_DSP && defined(__ARM_FEATURE_UNALIGNED) && !defined(__OPTIMIZE_SIZE__)
#define TCUQ_FOURS 1
#else
#define TCUQ_FOURS 0
#endif

/* The longest loops by hand, for Cortex-M4 and M7 and, for speed, M0: gcc alone. They name neither r7 nor r9 and take
 * twelve registers at most: a frame pointer and a static base may be reserved together. */
#if !defined(TCUQ_USE_ASM) && defined(__OPTIMIZE__) && \
    defined(__GNUC__) && !defined(__clang__) && !defined(__FRAMAC__) && \
    (TCUQ_DSP || (defined(__ARM_ARCH_6M__) && !defined(__OPTIMIZE_SIZE__)))
#define TCUQ_USE_ASM 1
#elif !defined(TCUQ_USE_ASM)
#define TCUQ_USE_ASM 0
#endif

#define TCUQ_QUADS (TCUQ_MAX_DIMENSIONS / 4u)
#define TCUQ_MINUS_OFFSET 0x0000FFC00000FFC0u
#define TCUQ_OFFSET 0x0000004000000040u /* 64 on the first weight of a pair: 1..127; the second: -63..63 */

/* value / 2^shift rounded down, for either sign, shift 0..30. */
/*@ requires shift <= 30; assigns \nothing; ensures \result == (value >> shift); */
static inline int32_t tcuq_floor_shift(int32_t value, uint8_t shift)
{
#if defined(__GNUC__)
    return value >> shift; /* gcc and clang define it: arithmetic */
#else
    if (value >= 0) {
        return (int32_t)((uint32_t)value >> shift);
    }
    return -1 - (int32_t)((uint32_t)(-1 - value) >> shift);
#endif
}

/* The same bits: a product or a shift whose lower 32 bits are meant, as a number of either sign. */
/*@ assigns \nothing; */
static inline int32_t tcuq_signed(uint32_t bits)
{
    return (int32_t)bits; /* gcc and clang define it: two's complement */
}

/* value * 2^by where that fits; bits that a negative value shifts out are meant to go. */
/*@ requires by <= 31; assigns \nothing; */
static inline int32_t tcuq_scale_up(int32_t value, uint32_t by)
{
    return tcuq_signed((uint32_t)value << by);
}

/*@ assigns \nothing; */
static inline uint64_t tcuq_quad(uint32_t low, uint32_t high)
{
    return ((uint64_t)high << 32) | low;
}

#if TCUQ_DSP

/* Load, post-increment; the compiler makes two instructions of it. */
static inline uint64_t tcuq_next(const uint64_t **at)
{
    uint64_t value;
    __asm__("ldrd %Q0, %R0, [%1], #8" : "=r"(value), "+r"(*at) : "m"(**at));
    return value;
}

/* Bytes 1 and 3 of a word as two halfwords; the compiler does not find the rotation for free. */
static inline int16x2_t tcuq_odd_bytes(uint32_t word)
{
    int16x2_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(word));
    return halves;
}

/* Two numbers of 16 bits as a pair; the compiler does not find the instruction. */
static inline uint32_t tcuq_pair(int32_t low, int32_t high)
{
#if TCUQ_USE_ASM
    uint32_t pair;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(pair) : "r"(low), "r"(high));
    return pair;
#else
    return ((uint32_t)low & 65535u) | (((uint32_t)high & 65535u) << 16);
#endif
}

/* The quad of the four features in a word. */
static inline uint64_t tcuq_quad_of(uint32_t word)
{
    return tcuq_quad((uint32_t)__sxtb16((int8x4_t)word), (uint32_t)tcuq_odd_bytes(word));
}

static inline uint64_t tcuq_take_four(const int8_t *four)
{
    uint32_t word;
    __builtin_memcpy(&word, four, 4);
    return tcuq_quad_of(word);
}

/* sum + the products of two quads of which one has offset weights (TCUQ_OFFSET), plus that offset · the
 * other: what is to be subtracted is tcuq_multiply_quad(TCUQ_OFFSET, quad, 0). */
static inline int32_t tcuq_multiply_quad(uint64_t weights, uint64_t quad, int32_t sum)
{
    sum = __smlad((int16x2_t)(uint32_t)weights, (int16x2_t)(uint32_t)quad, sum);
    return __smlad((int16x2_t)(uint32_t)(weights >> 32), (int16x2_t)(uint32_t)(quad >> 32), sum);
}

/* As tcuq_next, of four values of 16 bits, word aligned. */
static inline uint64_t tcuq_next_four(const int16_t **at)
{
    uint64_t value;
    __asm__("ldrd %Q0, %R0, [%1], #8"
            : "=r"(value), "+r"(*at)
            : "m"((*at)[0]), "m"((*at)[1]), "m"((*at)[2]), "m"((*at)[3]));
    return value;
}

static inline int32_t tcuq_saturate_16(int32_t value)
{
    return (int32_t)__builtin_arm_ssat(value, 16);
}

static inline int32_t tcuq_saturate_13(int32_t value)
{
    return (int32_t)__builtin_arm_ssat(value, 13);
}

static inline int32_t tcuq_saturate_8(int32_t value)
{
    return (int32_t)__builtin_arm_ssat(value, 8);
}

#else

/*@ requires \valid(at) && \valid_read(*at); assigns *at; ensures *at == \old(*at) + 1; */
static inline uint64_t tcuq_next(const uint64_t **at)
{
    const uint64_t value = **at;
    (*at)++;
    return value;
}

/*@ requires \valid_read(four + (0 .. 3)); assigns \nothing; */
static inline uint64_t tcuq_take_four(const int8_t *four)
{
    const int32_t low = (int32_t)four[0] * 65536 + four[2];
    const int32_t high = (int32_t)four[1] * 65536 + four[3];
    return tcuq_quad((uint32_t)low, (uint32_t)high);
}

/* By one multiplication a pair: its upper half is first · first + second · second (15 bits), its lower half
 * first weight · second feature, which takes 1 from the upper if that feature is negative, whatever
 * the weight: what subtracts the offset subtracts that too. Only the low 32 bits of the product count. */
/*@ requires -0x40000000 <= sum <= 0x40000000;
    assigns \nothing;
    ensures sum - 65536 <= \result <= sum + 65536; */
static inline int32_t tcuq_multiply_quad(uint64_t weights, uint64_t quad, int32_t sum)
{
    const uint32_t low = (uint32_t)weights * (uint32_t)quad;
    const uint32_t high = (uint32_t)(weights >> 32) * (uint32_t)(quad >> 32);
    return sum + tcuq_floor_shift(tcuq_signed(low), 16u) + tcuq_floor_shift(tcuq_signed(high), 16u);
}

/*@ assigns \nothing; ensures -32768 <= \result <= 32767; */
static inline int32_t tcuq_saturate_16(int32_t value)
{
    value = (value > INT16_MAX) ? INT16_MAX : value;
    return (value < INT16_MIN) ? INT16_MIN : value;
}

/*@ assigns \nothing; ensures -4096 <= \result <= 4095; */
#if defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)
static inline int32_t tcuq_saturate_13(int32_t value)
{
    if ((tcuq_scale_up(value, 19u) >> 19) == value) { /* nearly always, and without constants to load */
        return value;
    }
    value = (value > 4095) ? 4095 : value;
    return (value < -4096) ? -4096 : value;
}
#else
static inline int32_t tcuq_saturate_13(int32_t value)
{
    value = (value > 4095) ? 4095 : value;
    return (value < -4096) ? -4096 : value;
}
#endif

/*@ assigns \nothing; ensures -128 <= \result <= 127; */
static inline int32_t tcuq_saturate_8(int32_t value)
{
    value = (value > INT8_MAX) ? INT8_MAX : value;
    return (value < INT8_MIN) ? INT8_MIN : value;
}

#endif

/* Leading zeros of a value that is not 0. */
#if defined(__ARM_FEATURE_CLZ) && !defined(__FRAMAC__)
static inline uint32_t tcuq_leading_zeros(uint32_t value)
{
    return (uint32_t)__builtin_clz(value);
}
#else
uint32_t tcuq_leading_zeros(uint32_t value);
#endif

#endif
