/* SPDX-License-Identifier: Apache-2.0 */
/* One fuzz case: two monitors of one profile, and what the input may still cost. */
#ifndef FUZZ_CASE_H
#define FUZZ_CASE_H

#include "alarm_model.h"
#include "must.h"

typedef struct {
    subject of;
    memory first;
    memory second;
    uint8_t *posterior;
    int8_t *features;
    int16_t *health; /* null: none of the profile's steps carries any */
    alarm_model model;
    uint32_t work;
    uint64_t steps;
    uint64_t abstained;
    uint8_t garbage;
} fuzz_case;

#define CANARY 0xC3u /* fills a buffer, to show what was written */

/* How a snapshot is altered: its checksum left false, made true, or true over extreme values. */
typedef enum { DAMAGED, FORGED, EXTREME } forgery;

/* Puts values at their ends, or beyond, where the input says so. */
void make_extreme(const fuzz_case *on, uint8_t *snapshot, bytes *in);

/* Whether every value of a snapshot lies where steps can leave it, and the ring's two agree. */
bool is_possible(const fuzz_case *on, uint8_t *snapshot);
bool is_in_order(const fuzz_case *on, const uint8_t *snapshot);

/* Bytes of a snapshot before its past steps, and of those. */
#define HEAD_BYTES 48u
uint32_t past_bytes(const fuzz_case *on);

/* Whether the input may cost this much more; if not, it may cost nothing more. */
static inline bool afford(fuzz_case *on, uint32_t cost)
{
    const bool enough = cost <= on->work;
    on->work = enough ? on->work - cost : 0u;
    return enough;
}

uint32_t crc32_of(const uint8_t *from, size_t size);
uint32_t read32(const uint8_t *at);

/* samples.c: the input read once more, as groups and samples of input health. */
void fuzz_samples(bytes in);

void op_power_cut(fuzz_case *on);
void op_restore(fuzz_case *on, bytes *in, forgery kind);
void op_small_buffer(fuzz_case *on, bytes *in);

#endif
