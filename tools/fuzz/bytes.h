/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzzer's bytes, read front to back; when they run out, zeros follow. */
#ifndef FUZZ_BYTES_H
#define FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *at;
    size_t left;
} bytes;

uint8_t take8(bytes *in);
uint16_t take16(bytes *in);
uint32_t take32(bytes *in);

/* An integer of low..high; an eighth of all inputs give one of the two, where bounds are proved wrong. */
int32_t take_in(bytes *in, int32_t low, int32_t high);

/* Integers of low..high for a table, by a mode and a seed taken from the input. */
typedef struct {
    bytes *in;
    uint8_t mode;
    uint32_t state;
    int32_t low;
    int32_t high;
} series;

series take_series(bytes *in, int32_t low, int32_t high);
int32_t next_of(series *from);

#endif
