/* SPDX-License-Identifier: Apache-2.0 */
/* What simulated devices see: risks, and block sums against the edges of a calibration of 625 blocks.
 *
 * Bets pay as in DESIGN: e = 0.5 + 0.17/S1 [x > q1] + 0.17/S2 [x > q2] + 0.16/S3 [x > q3]. In calm, x passes
 * edge j with chance S_j, the worst that calibration allows: the mean of e is 1, less rounding (0.9997). A
 * cohort's draw has the same law as a device's own, so devices depend on each other and each keeps it. */
#include "simulator.h"

/* Clopper-Pearson bounds for 62, 12 and 0 of 625 blocks at 0.05/12, in 1/65536, rounded down. */
static const uint32_t calm_q16[3] = {8835u, 2541u, 572u};
static const uint32_t drifted_q16[3] = {39322u, 26214u, 13107u};
/* floor(256 log2 e) by edges passed. */
#define GAINS {-256, 209, 670, 1181}
/* 256 (20 - log2 64 + log2 4): one false alarm in a million steps. */
#define LIMIT_Q8 4096u

/* A block is one call here, which tcuq_init would not allow: the fleet resets its monitors instead. */
#define CHANNEL(of, bit) \
    {.signal = (of), .flag = (bit), .block = 1u, .limit_q8 = LIMIT_Q8, .edges = {0, 1, 2}, .gains_q8 = GAINS}

static const tcuq_channel channels[CHANNELS] = {
    CHANNEL(TCUQ_LOW_CONFIDENCE, TCUQ_ALARM_LOW_CONFIDENCE),
    CHANNEL(TCUQ_NOVELTY, TCUQ_ALARM_NOVELTY),
    CHANNEL(TCUQ_DIVERGENCE, TCUQ_ALARM_DIVERGENCE),
    CHANNEL(TCUQ_INSTABILITY, TCUQ_ALARM_INSTABILITY),
};

uint64_t mixed(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

uint64_t drawn(uint64_t *random)
{
    *random += 0x9E3779B97F4A7C15u;
    return mixed(*random);
}

/* Risks are 16384 u^5 in calm and 16384 u^2 in drift, u even in [0, 1). Anchor and start are the calm law's
 * 0.9 quantile; alpha 0.1, budget 0.15, 20 tokens. */
void laws_made(fleet *all)
{
    const double levels = (double)TCUQ_RISK_LEVELS;
    for (uint32_t i = 0u; i < LEVELS; i++) {
        const double even = ((double)i + 0.5) / (double)LEVELS;
        const double square = even * even;
        all->calm[i] = (uint16_t)(levels * square * square * even);
        all->drifted[i] = (uint16_t)(levels * square);
    }
    const tcuq_profile profile = {
        .format = TCUQ_PROFILE_FORMAT,
        .alpha_q16 = 6554u,
        .step = 64u,
        .start = all->calm[LEVELS * 9u / 10u],
        .anchor = all->calm[LEVELS * 9u / 10u],
        .rate_q16 = 9830u,
        .burst_q16 = 20u * TCUQ_TOKEN,
        .channels = channels,
        .channel_count = CHANNELS,
    };
    all->profile = profile;
}

/* A block's sum by edges passed, from 16 bits. */
static uint16_t height(uint64_t bits, const uint32_t *chances_q16)
{
    const uint32_t draw = (uint32_t)bits & 0xFFFFu;
    return (uint16_t)((draw < chances_q16[0]) + (draw < chances_q16[1]) + (draw < chances_q16[2]));
}

/* The end of a block: one bet a channel. */
static uint8_t block_ends(const fleet *all, simulated *one, const tcuq_monitor *monitor, uint32_t number)
{
    const uint64_t hour = mixed((((uint64_t)one->is.cohort << 32) | one->hour) + 1u);
    const uint64_t common = mixed(all->plan.seed ^ mixed(hour + number));
    const uint64_t own = drawn(&one->random);
    const uint64_t choice = drawn(&one->random);
    const bool drifts = (one->hour >= one->is.drifts_from) && ((uint8_t)choice < one->severity);
    const bool shared = ((choice >> 8) & 0xFFFFu) < all->plan.sharing_q16;
    const uint64_t bits = (!drifts && shared) ? common : own;
    const uint32_t *chances_q16 = drifts ? drifted_q16 : calm_q16;
    const tcuq_signals signals = {
        .low_confidence_q10 = (int16_t)height(bits, chances_q16),
        .novelty_q10 = (int16_t)height(bits >> 16, chances_q16),
        .values_q15 = {height(bits >> 32, chances_q16), height(bits >> 48, chances_q16)},
        .whole_past = true,
    };
    return tcuq_alarm_run(monitor, &signals);
}

void steps_run(const fleet *all, simulated *one, const tcuq_monitor *monitor, uint32_t steps)
{
    const uint16_t *law = (one->hour >= one->is.drifts_from) ? all->drifted : all->calm;
    uint64_t bits = 0u;
    uint32_t number = 0u;
    for (uint32_t i = 0u; i < steps; i++) {
        tcuq_decision decision = {0};
        bits = ((i % 5u) == 0u) ? drawn(&one->random) : (bits >> 12);
        decision.risk = law[bits % LEVELS];
        decision.outcome =
            tcuq_budget_run(monitor, tcuq_threshold_run(monitor, decision.risk, &decision));
        one->taken++;
        if (one->taken >= all->plan.block) {
            one->taken = 0u;
            decision.alarm = block_ends(all, one, monitor, number);
            number++;
        }
        tcuq_telemetry_count(monitor, &decision);
    }
}
