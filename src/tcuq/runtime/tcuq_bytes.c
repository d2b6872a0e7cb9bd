/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes: numbers as the wire has them, little-endian on every CPU, and their checksum. */
#include "tcuq_internal.h"

/* Takes four bits at a time: a sixteenth of the usual table, a quarter of the bitwise time. */
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    /*@ loop invariant i <= size;
        loop assigns i, crc;
        loop variant size - i; */
    for (uint32_t i = 0u; i < size; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ tcuq_crc32_nibble[crc & 15u];
        crc = (crc >> 4) ^ tcuq_crc32_nibble[crc & 15u];
    }
    return ~crc;
}

uint8_t *tcuq_put(uint8_t *at, uint32_t value, uint8_t bytes)
{
    /*@ loop invariant i <= bytes;
        loop assigns i, at[0 .. bytes - 1];
        loop variant bytes - i; */
    for (uint8_t i = 0u; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8u * i));
    }
    return at + bytes;
}
