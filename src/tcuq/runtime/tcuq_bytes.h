/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes: numbers as the wire has them, little-endian on every CPU. */
#ifndef TCUQ_BYTES_H
#define TCUQ_BYTES_H

#include "tcuq.h"

/* Where one instruction takes a word at any address and has it as the wire does: less than a call. */
#if defined(__GNUC__) && defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_BIG_ENDIAN) && !defined(__FRAMAC__)
#define TCUQ_AS_WIRE 1
#define TCUQ_WIRE static inline __attribute__((always_inline))
#else
#define TCUQ_AS_WIRE 0
#define TCUQ_WIRE static inline
#endif

/* Where the state's bytes in memory are those of a snapshot: structs without gaps, little-endian. */
#if defined(__GNUC__) && (defined(__arm__) || defined(__riscv)) && \
    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) && !defined(__FRAMAC__)
#define TCUQ_STATE_AS_WIRE 1
#else
#define TCUQ_STATE_AS_WIRE 0
#endif

/*@ requires \valid(at + (0 .. 1));
    assigns at[0 .. 1]; */
TCUQ_WIRE void tcuq_put_16(uint8_t *at, uint16_t value)
{
#if TCUQ_AS_WIRE
    __builtin_memcpy(at, &value, 2);
#else
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
#endif
}

/*@ requires \valid(at + (0 .. 3));
    assigns at[0 .. 3]; */
TCUQ_WIRE void tcuq_put_32(uint8_t *at, uint32_t value)
{
#if TCUQ_AS_WIRE
    __builtin_memcpy(at, &value, 4);
#else
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
    at[2] = (uint8_t)(value >> 16);
    at[3] = (uint8_t)(value >> 24);
#endif
}

/*@ requires \valid_read(at + (0 .. 1));
    assigns \nothing; */
TCUQ_WIRE uint16_t tcuq_get_16(const uint8_t *at)
{
    return (uint16_t)(at[0] | ((uint32_t)at[1] << 8));
}

/*@ requires \valid_read(at + (0 .. 3));
    assigns \nothing; */
TCUQ_WIRE uint32_t tcuq_get_32(const uint8_t *at)
{
    return at[0] | ((uint32_t)at[1] << 8) | ((uint32_t)at[2] << 16) | ((uint32_t)at[3] << 24);
}

/*@ requires \valid_read(at + (0 .. 3));
    assigns \nothing; */
TCUQ_WIRE int32_t tcuq_get_signed(const uint8_t *at)
{
    const uint32_t raw = tcuq_get_32(at);
    return (raw > (uint32_t)INT32_MAX) ? (int32_t)(raw - 0x80000000u) + INT32_MIN : (int32_t)raw;
}

#endif
