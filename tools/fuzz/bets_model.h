/* SPDX-License-Identifier: Apache-2.0 */
/* A channel's bets as the alarm must make them: counts, sums and evidence. */
#ifndef BETS_MODEL_H
#define BETS_MODEL_H

#include "tcuq_internal.h"

extern const uint8_t rest_levels[3]; /* that a block leaves which passes no edge */

void bets_take(tcuq_channel_state *state, uint32_t passed);
uint64_t bets_sums(const tcuq_channel *channel, const tcuq_channel_state *state);

#endif
