/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes: their checksum. */
#include "tcuq_internal.h"

/* CRC-32 (IEEE, reflected), bit by bit: a table would be larger than the rest of it. */
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    /*@ loop invariant i <= size;
        loop assigns i, crc;
        loop variant size - i; */
    for (uint32_t i = 0u; i < size; i++) {
        crc ^= bytes[i];
        /*@ loop invariant bit <= 8;
            loop assigns bit, crc;
            loop variant 8 - bit; */
        for (uint32_t bit = 0u; bit < 8u; bit++) {
            crc = (crc >> 1) ^ (((crc & 1u) != 0u) ? 0xEDB88320u : 0u);
        }
    }
    return ~crc;
}
