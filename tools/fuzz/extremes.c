/* SPDX-License-Identifier: Apache-2.0 */
/* The values of a snapshot: which of them steps can leave, and those at the ends of that, where sums
 * come nearest to overflow, or one beyond. The layout is that of docs/spec/arithmetic.md. */
#include "fuzz_case.h"

#define MEMORY 0xC0u /* in the upper byte of a channel's taken steps: how long a pass is remembered */
#define RECENT_MAX ((int64_t)10 * 16 << 18) /* ten terms of 16 bits */

/* A walk over the values: with an input it changes them, without it only looks. */
typedef struct {
    bytes *in;
    bool possible;
} walk;

static int64_t read_value(const uint8_t *at, uint32_t size, bool is_signed)
{
    int64_t value = 0;
    for (uint32_t i = 0u; i < size; i++) {
        value |= (int64_t)at[i] << (8u * i);
    }
    return (is_signed && ((at[size - 1u] & 128u) != 0u)) ? value - ((int64_t)1 << (8u * size)) : value;
}

/* A value of least..most in so many bytes: kept, or the least, the most, one more, one less. */
static uint8_t *visit(walk *on, uint8_t *at, uint32_t size, int64_t least, int64_t most)
{
    const int64_t choices[] = {0, least, most, most + 1, least - 1};
    const uint8_t choice = (on->in != NULL) ? (uint8_t)(take8(on->in) % 5u) : 0u;
    for (uint32_t i = 0u; (i < size) && (choice != 0u); i++) {
        at[i] = (uint8_t)((uint64_t)choices[choice] >> (8u * i));
    }
    const int64_t value = read_value(at, size, least < 0);
    on->possible = on->possible && (least <= value) && (value <= most);
    return &at[size];
}

static uint8_t *visit_channel(walk *on, uint8_t *at, const tcuq_channel *channel)
{
    const uint8_t memory = at[5] & MEMORY;
    at[5] = (uint8_t)(at[5] ^ memory);
    (void)visit(on, &at[4], 2u, 0, channel->block - 1);
    const int64_t most = (read_value(&at[4], 2u, false) & 0x3FFF) * 65536;
    at[5] = (uint8_t)(at[5] | memory);
    on->possible = on->possible && (memory != MEMORY);
    (void)visit(on, &at[0], 4u, -most, most);
    at = visit(on, &at[6], 2u, INT16_MIN, INT16_MAX);
    at = visit(on, at, 2u, INT16_MIN, INT16_MAX);
    for (uint32_t k = 0u; k < TCUQ_LEARNED_COUNTS; k++) {
        at = visit(on, at, 2u, 1, 65519);
    }
    for (uint32_t k = 0u; k < TCUQ_BETS; k++) {
        at = visit(on, at, 1u, 0, 216);
    }
    return visit(on, at, 1u, INT8_MIN, INT8_MAX);
}

/* The two kept classes, which differ, and their probabilities, which together are at most 1. */
static uint8_t *visit_kept(walk *on, uint8_t *at, uint32_t classes)
{
    (void)visit(on, at, 2u, 0, (int64_t)classes - 1);
    (void)visit(on, &at[2], 2u, 0, (int64_t)classes - 1);
    (void)visit(on, &at[4], 2u, 0, 32768);
    const int64_t left = 32768 - read_value(&at[4], 2u, false);
    (void)visit(on, &at[6], 2u, 0, (left < 0) ? 0 : left);
    on->possible = on->possible && (read_value(at, 2u, false) != read_value(&at[2], 2u, false));
    return &at[8];
}

static void visit_telemetry(walk *on, uint8_t *at)
{
    for (uint32_t counter = 0u; counter < 4u; counter++) {
        at = visit(on, at, 4u, 0, UINT32_MAX);
    }
    at = visit(on, at, 2u, 0, UINT16_MAX);
    at = visit(on, at, 1u, 0, 31);
    for (uint32_t bin = 0u; bin < TCUQ_HISTOGRAM_BINS; bin++) {
        at = visit(on, at, 2u, 0, UINT16_MAX);
    }
    for (uint32_t mean = 0u; mean < TCUQ_EPOCH_MEANS; mean++) {
        at = visit(on, at, 2u, 0, UINT16_MAX);
    }
    at = visit(on, at, 2u, 0, UINT16_MAX); /* the last label */
    for (uint32_t half = 0u; half < 2u * TCUQ_EPOCH_MEANS; half++) {
        at = visit(on, at, 4u, 0, UINT32_MAX); /* of a sum */
    }
}

uint32_t past_bytes(const fuzz_case *on)
{
    const tcuq_profile *p = &on->of.profile;
    return p->lags[p->lag_count - 1u] * ((uint32_t)p->classes + p->dimensions);
}

static void visit_all(walk *on, const fuzz_case *of, uint8_t *snapshot)
{
    const tcuq_profile *p = &of->of.profile;
    const tcuq_monitor *m = &of->first.monitor;
    const uint32_t slots = p->lags[p->lag_count - 1u];
    const int64_t step = (int64_t)p->step << 16;
    uint8_t *at = &snapshot[12];
    at = visit(on, at, 4u, -step, ((int64_t)TCUQ_RISK_LEVELS << 16) + step);
    at = visit(on, at, 4u, 0, UINT32_MAX);
    at = visit(on, at, 4u, 0, p->burst_q16);
    at = visit(on, at, 1u, 0, slots - 1u);
    at = visit(on, at, 1u, 0, slots);
    at = visit(on, at, 1u, INT8_MIN, INT8_MAX); /* the closed epoch's evidence */
    at = visit(on, at, 1u, 0, UINT8_MAX);       /* the cause */
    at = visit(on, at, 4u, 0, (p->channel_count != 0u) ? (int64_t)p->epoch_steps - 1 : UINT32_MAX);
    at = visit(on, at, 2u, 0, UINT16_MAX);
    at = visit(on, at, 2u, 0, UINT16_MAX);
    at = visit(on, at, 4u, 0, RECENT_MAX);
    at = visit_kept(on, at, (p->blend_q15 == UINT16_MAX) ? 2u : p->classes);
    at += past_bytes(of);
    for (uint32_t i = 0u; (m->smoothed_q8 != NULL) && (i < p->term_count); i++) {
        at = visit(on, at, 4u, 0, 1 << 22);
    }
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        at = visit_channel(on, at, &p->channels[i]);
    }
    if (m->telemetry != NULL) {
        visit_telemetry(on, at);
    }
}

void make_extreme(const fuzz_case *on, uint8_t *snapshot, bytes *in)
{
    walk changing = {in, true};
    visit_all(&changing, on, snapshot);
}

bool is_possible(const fuzz_case *on, uint8_t *snapshot)
{
    walk looking = {NULL, true};
    visit_all(&looking, on, snapshot);
    return looking.possible;
}

/* Before the ring is full, the slot written next is the first empty one. */
bool is_in_order(const fuzz_case *on, const uint8_t *snapshot)
{
    const tcuq_profile *p = &on->of.profile;
    return (snapshot[25] == p->lags[p->lag_count - 1u]) || (snapshot[25] == snapshot[24]);
}
