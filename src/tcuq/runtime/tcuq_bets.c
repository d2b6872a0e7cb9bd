/* SPDX-License-Identifier: Apache-2.0 */
/* Bets: three a channel, on a low edge, on a middle one, and on the two highest; they learn.
 *
 * A bet pays for an edge that a block passes, the more the more seldom blocks have passed it, in calibration and on
 * this device, and sums its payoffs over where a change may have begun (Shiryaev-Roberts). docs/spec/arithmetic.md */
#include "tcuq_internal.h"
#ifdef __FRAMAC__
#include "tcuq_acsl_bits.h"
#endif

#if TCUQ_WITH_ALARM

/* What the bets stake on each edge, the last two by the last bet; the rest of each is kept. */
#define TCUQ_LOW_STAKE_Q16 38912u
#define TCUQ_MIDDLE_STAKE_Q16 52224u
#define TCUQ_TOP_STAKE_Q16 29696u
#define TCUQ_BEYOND_STAKE_Q16 25600u

/* Chances of a pass after a pass. Each block that passed is remembered for two more; those that passed while one was
 * remembered add at least one: chances = 2 (passes - 2) + passes after one, where 2 is the counts' start and the
 * latest. */
/*@ requires \valid_read(counts + (0 .. TCUQ_LEARNED_COUNTS - 1));
    assigns \nothing;
    ensures \result <= 65535; */
static uint32_t tcuq_chances(const uint16_t *counts)
{
    const uint32_t passes = counts[1];
    uint32_t chances = (passes > (2u * TCUQ_UNITS_PER_BLOCK)) ? 2u * (passes - 2u * TCUQ_UNITS_PER_BLOCK) : 0u;
    chances += counts[1u + TCUQ_EDGES];
    return (chances > UINT16_MAX) ? UINT16_MAX : chances;
}

/*@ requires \valid(counts + (0 .. TCUQ_LEARNED_COUNTS - 1));
    requires \forall integer i; 0 <= i < TCUQ_LEARNED_COUNTS ==> 1 <= counts[i];
    assigns counts[0 .. TCUQ_LEARNED_COUNTS - 1];
    ensures tcuq_counts_ok(counts, TCUQ_LEARNED_COUNTS); */
static void tcuq_halve(uint16_t *counts)
{
    /*@ loop invariant k <= TCUQ_LEARNED_COUNTS && tcuq_counts_ok(counts, k);
        loop invariant \forall integer i; k <= i < TCUQ_LEARNED_COUNTS ==> 1 <= counts[i];
        loop assigns k, counts[0 .. TCUQ_LEARNED_COUNTS - 1];
        loop variant TCUQ_LEARNED_COUNTS - k; */
    for (uint32_t k = 0u; k < TCUQ_LEARNED_COUNTS; k++) {
        counts[k] = (uint16_t)(((uint32_t)counts[k] + 1u) >> 1);
    }
}

/* What each bet pays for a block that passes the first edges, by the counts so far; then the block is counted too,
 * and all counts are halved before one overflows. */
/*@ requires \valid(counts + (0 .. TCUQ_LEARNED_COUNTS - 1)) && tcuq_counts_ok(counts, TCUQ_LEARNED_COUNTS);
    requires \valid(bets_q16 + (0 .. TCUQ_BETS - 1)) && passed <= TCUQ_EDGES + 1;
    requires \separated(counts + (0 .. TCUQ_LEARNED_COUNTS - 1), bets_q16 + (0 .. TCUQ_BETS - 1));
    assigns counts[0 .. TCUQ_LEARNED_COUNTS - 1], bets_q16[0 .. TCUQ_BETS - 1];
    ensures tcuq_counts_ok(counts, TCUQ_LEARNED_COUNTS); */
static void tcuq_bet(uint16_t *counts, bool after, uint32_t passed, uint32_t *bets_q16)
{
    static const uint16_t stakes_q16[] = {TCUQ_LOW_STAKE_Q16, TCUQ_MIDDLE_STAKE_Q16, TCUQ_TOP_STAKE_Q16,
                                          TCUQ_BEYOND_STAKE_Q16};
    const uint32_t first = after ? 1u + TCUQ_EDGES : 1u;
    const uint32_t last = after ? TCUQ_COUNTS + 1u : TCUQ_COUNTS;
    const uint32_t chances = after ? tcuq_chances(counts) : counts[0];
    uint32_t most = 0u; /* of the counts that grow */
    bets_q16[0] = 65536u - TCUQ_LOW_STAKE_Q16;
    bets_q16[1] = 65536u - TCUQ_MIDDLE_STAKE_Q16;
    bets_q16[2] = 65536u - TCUQ_TOP_STAKE_Q16 - TCUQ_BEYOND_STAKE_Q16;
    if (!after) {
        most = chances + TCUQ_UNITS_PER_BLOCK;
        counts[0] = (uint16_t)most;
    }
    /*@ loop invariant j <= passed && most <= 65535 && chances <= 65535;
        loop invariant j <= 0 ==> bets_q16[0] <= 65536;
        loop invariant j <= 1 ==> bets_q16[1] <= 65536;
        loop invariant j <= 2 ==> bets_q16[2] <= 65536;
        loop invariant j <= 3 ==> bets_q16[2] <= 65536 + TCUQ_TOP_STAKE_Q16 * 65535;
        loop invariant tcuq_counts_grown(counts, most);
        loop invariant \forall integer k; j <= k < TCUQ_EDGES ==> counts[first + k] <= TCUQ_COUNT_MAX;
        loop invariant j <= TCUQ_EDGES ==> counts[last] <= TCUQ_COUNT_MAX;
        loop assigns j, most, counts[1 .. TCUQ_LEARNED_COUNTS - 1], bets_q16[0 .. TCUQ_BETS - 1];
        loop variant passed - j; */
    for (uint32_t j = 0u; j < passed; j++) {
        const uint32_t at = (j < TCUQ_EDGES) ? first + j : last;
        const uint32_t bet = (j < TCUQ_BETS) ? j : TCUQ_BETS - 1u;
        const uint32_t count = counts[at] + TCUQ_UNITS_PER_BLOCK;
        //@ assert 0 <= stakes_q16[j] * chances <= TCUQ_MIDDLE_STAKE_Q16 * 65535;
        //@ assert j == 2 ==> stakes_q16[j] * chances <= TCUQ_TOP_STAKE_Q16 * 65535;
        //@ assert j == 3 ==> stakes_q16[j] * chances <= TCUQ_BEYOND_STAKE_Q16 * 65535;
        const uint32_t pays = (stakes_q16[j] * chances) / counts[at];
        //@ assert pays <= stakes_q16[j] * chances;
        bets_q16[bet] += pays;
        counts[at] = (uint16_t)count;
        most = (count > most) ? count : most;
    }
    if (most > TCUQ_COUNT_MAX) {
        tcuq_halve(counts);
    }
}

/* (1/8 bit, Q16) log2 of 2^level * bet + 1, rounded down. */
/*@ requires level <= TCUQ_MAX_LEVEL;
    assigns \nothing; */
static uint32_t tcuq_raised(uint32_t level, uint32_t bet_q16)
{
    uint32_t octave = level >> 3;
    //@ assert octave <= 27 && 0 <= tcuq_eighths_q15[level & 7] * bet_q16 <= 65535 * 0xFFFFFFFF;
    const uint32_t one = 0x80000000u >> octave; /* Q31 of 2^octave, as the sum */
    uint64_t wealth = (uint64_t)tcuq_eighths_q15[level & 7u] * bet_q16 + one;
    if ((wealth >> 32) != 0u) {
        wealth >>= 16;
        octave += 16u;
    }
    const uint32_t zeros = tcuq_leading_zeros((uint32_t)wealth | 1u);
    //@ assert ((uint32_t)wealth << zeros) <= (((uint32_t)wealth | 1u) << zeros);
    const uint32_t mantissa = ((uint32_t)wealth << zeros) >> 16;
    uint32_t eighth = (mantissa >> 12) & 7u; /* log2(1 + x) is at least x, and less than 1/8 above it */
    if ((eighth < 7u) && (mantissa >= tcuq_eighths_q15[eighth + 1u])) {
        eighth++;
    }
    return (octave > zeros) ? 8u * (octave - zeros) + eighth : eighth;
}

void tcuq_bets_rest(tcuq_channel_state *state)
{
    /*@ loop invariant bet <= TCUQ_BETS && \forall integer k; 0 <= k < bet ==> state->levels[k] <= TCUQ_MAX_LEVEL;
        loop assigns bet, state->levels[0 .. TCUQ_BETS - 1];
        loop variant TCUQ_BETS - bet; */
    for (uint32_t bet = 0u; bet < TCUQ_BETS; bet++) {
        //@ assert tcuq_rest[bet] <= TCUQ_MAX_LEVEL;
        state->levels[bet] = tcuq_rest[bet];
    }
}

void tcuq_bets_take(tcuq_channel_state *state, uint32_t passed)
{
    uint32_t bets_q16[TCUQ_BETS];
    const uint32_t memory = (uint32_t)state->block_steps_and_memory >> TCUQ_RECENT_SHIFT;
    //@ assert memory <= 3;
    tcuq_bet(state->counts, memory != 0u, passed, bets_q16);
    /*@ loop invariant bet <= TCUQ_BETS;
        loop invariant \forall integer k; 0 <= k < TCUQ_BETS ==> state->levels[k] <= TCUQ_MAX_LEVEL;
        loop assigns bet, state->levels[0 .. TCUQ_BETS - 1];
        loop variant TCUQ_BETS - bet; */
    for (uint32_t bet = 0u; bet < TCUQ_BETS; bet++) {
        if ((passed != 0u) || (state->levels[bet] > tcuq_rest[bet])) {
            const uint32_t level = tcuq_raised(state->levels[bet], bets_q16[bet]);
            state->levels[bet] = (uint8_t)((level < TCUQ_MAX_LEVEL) ? level : TCUQ_MAX_LEVEL);
        }
    }
    const uint32_t left = (passed != 0u) ? TCUQ_RECENT_BLOCKS : ((memory != 0u) ? memory - 1u : 0u);
    //@ assert left <= 2;
    state->block_steps_and_memory = (uint16_t)(left << TCUQ_RECENT_SHIFT);
}

bool tcuq_amber(const tcuq_monitor *monitor)
{
    if (monitor->profile->channel_count == 0u) {
        return false;
    }
    const uint32_t limit = TCUQ_BETS * monitor->profile->alarm_limit;
    uint32_t left = (limit + 63u) >> 6;
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop assigns i, left;
        loop variant monitor->profile->channel_count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        const uint32_t evidence = tcuq_channel_evidence(&monitor->profile->channels[i], &monitor->channels[i]);
        left -= (evidence < left) ? evidence : left;
    }
    return left == 0u;
}

int8_t tcuq_last_change(const tcuq_monitor *monitor)
{
    const uint32_t flag = ((1u << (monitor->core->cause & 7u)) >> 1) & 0xFFu;
    int8_t change = 0;
    /*@ loop invariant i <= monitor->profile->channel_count;
        loop assigns i, change;
        loop variant monitor->profile->channel_count - i; */
    for (uint32_t i = 0u; i < monitor->profile->channel_count; i++) {
        if (monitor->profile->channels[i].flag == flag) {
            change = monitor->channels[i].change;
        }
    }
    return change;
}

#endif
