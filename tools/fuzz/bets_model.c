/* SPDX-License-Identifier: Apache-2.0 */
/* The model of bets_model.h, in doubles. */
#include "bets_model.h"

#include <math.h>
#include <stdbool.h>

/* 2^(level / 8) as the table rounds it. */
static double power(uint32_t level)
{
    return round(ldexp(exp2((level % 8u) / 8.0), 15)) * ldexp(1.0, (int)(level / 8u) - 15);
}

const uint8_t rest_levels[3] = {6u, 2u, 1u};

/* A finished block into counts and sums. */
void bets_take(tcuq_channel_state *state, uint32_t passed)
{
    static const uint64_t stakes[] = {38912u, 52224u, 29696u, 25600u};
    const uint32_t memory = (uint32_t)state->block_steps_and_memory >> 14;
    const bool after = memory != 0u;
    uint16_t *const passes[] = {&state->counts[after ? 4 : 1], &state->counts[after ? 5 : 2],
                                &state->counts[after ? 6 : 3], &state->counts[after ? 8 : 7]};
    uint64_t pays[] = {26624u, 13312u, 10240u};
    int64_t chances = state->counts[0];
    if (after) {
        chances = 2 * (int64_t)state->counts[1] + *passes[0] - 64;
        chances = (chances < *passes[0]) ? *passes[0] : chances;
        chances = (chances > 65535) ? 65535 : chances;
    }
    for (uint32_t j = 0u; j < passed; j++) {
        pays[(j < 3u) ? j : 2u] += stakes[j] * (uint64_t)chances / *passes[j];
    }
    for (uint32_t i = 0u; i < 3u; i++) {
        if ((passed == 0u) && (state->levels[i] <= rest_levels[i])) {
            continue;
        }
        const double sum = power(state->levels[i]) * (double)pays[i] / 65536.0 + 1.0;
        uint32_t level = 0u;
        while ((level < 216u) && (power(level + 1u) <= sum)) {
            level++;
        }
        state->levels[i] = (uint8_t)level;
    }
    state->counts[0] = (uint16_t)(state->counts[0] + (after ? 0u : 16u));
    bool full = state->counts[0] > 65519u;
    for (uint32_t j = 0u; j < passed; j++) {
        *passes[j] = (uint16_t)(*passes[j] + 16u);
        full = full || (*passes[j] > 65519u);
    }
    for (uint32_t k = 0u; full && (k < 9u); k++) {
        state->counts[k] = (uint16_t)((state->counts[k] + 1u) / 2u);
    }
    state->block_steps_and_memory = (uint16_t)(((passed != 0u) ? 2u : (after ? memory - 1u : 0u)) << 14);
}

/* The sums of a channel's bets, in steps. */
uint64_t bets_sums(const tcuq_channel *channel, const tcuq_channel_state *state)
{
    uint64_t total = 0u;
    for (uint32_t i = 0u; i < 3u; i++) {
        const double sum = floor(channel->block * power(state->levels[i]));
        total += (state->levels[i] > rest_levels[i]) ? (uint64_t)fmin(sum, 1073741824.0) - channel->block : 0u;
    }
    return total;
}
