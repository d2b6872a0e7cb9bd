/* SPDX-License-Identifier: Apache-2.0 */
/* The random inputs of simulated devices: risks, and block sums against the edges of a calibration of 625 blocks,
 * from a null distribution or from a drifted one.
 *
 * Bets pay as in DESIGN: e = 0.5 + 0.17/S1 [x > q1] + 0.17/S2 [x > q2] + 0.16/S3 [x > q3]. Under the null
 * distribution x passes edge j with probability S_j, the worst that calibration allows: the mean of e is 1, less
 * rounding (0.9997). A cohort's draw has the same distribution as a device's own, so devices depend on each other
 * and each keeps the null distribution. Novelty and labels do not vary. */
#include "simulator.h"

/* Clopper-Pearson bounds for 62, 12 and 0 of 625 blocks at 0.05/12, in 1/65536, rounded down. */
static const uint32_t null_q16[3] = {8835u, 2541u, 572u};
static const uint32_t drift_q16[3] = {39322u, 26214u, 13107u};
/* floor(256 log2 e) by edges passed. */
#define GAINS {-256, 209, 670, 1181}
/* One false alarm in 2^20 steps, over all channels. */
#define ALARM_LIMIT (CHANNELS << 20)
/* 256 log2(2 ALARM_LIMIT / 64): for the usual block. */
#define BOOT_LIMIT_Q8 4352u
/* In 1/16 block, of independent blocks and one more: those after two that passed none (0.81 of 625), how many of
 * them passed each edge, and how many after others did. */
#define COUNTS {8116u, 820u, 172u, 16u, 204u, 52u, 16u}

static const uint8_t signals[CHANNELS] = {TCUQ_RISK, TCUQ_NOVELTY, TCUQ_DIVERGENCE, TCUQ_INSTABILITY};
static const uint8_t flags[CHANNELS] = {TCUQ_ALARM_RISK, TCUQ_ALARM_NOVELTY, TCUQ_ALARM_DIVERGENCE,
                                        TCUQ_ALARM_INSTABILITY};

/* The finalizer of SplitMix64. */
uint64_t mix64(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

/* SplitMix64. */
uint64_t random_next(uint64_t *state)
{
    *state += 0x9E3779B97F4A7C15u;
    return mix64(*state);
}

/* Risks are 16384 u^5 under the null distribution and 16384 u^2 in drift, u uniform in [0, 1). Anchor and start
 * are the null distribution's 0.9 quantile; alpha 0.1, budget 0.15, 20 tokens. */
void init_distributions(simulation *sim)
{
    const double levels = (double)TCUQ_RISK_LEVELS;
    for (uint32_t i = 0u; i < QUANTILES; i++) {
        const double uniform = ((double)i + 0.5) / (double)QUANTILES;
        const double square = uniform * uniform;
        sim->null_risks[i] = (uint16_t)(levels * square * square * uniform);
        sim->drift_risks[i] = (uint16_t)(levels * square);
        sim->null_odds_q10[i] = tcuq_risk_odds_q10(sim->null_risks[i]);
        sim->drift_odds_q10[i] = tcuq_risk_odds_q10(sim->drift_risks[i]);
    }
    for (uint32_t i = 0u; i < CHANNELS; i++) {
        const tcuq_channel channel = {.signal = signals[i],
                                      .flag = flags[i],
                                      .block = (uint16_t)sim->plan.block,
                                      .boot_limit_q8 = BOOT_LIMIT_Q8,
                                      .gains_q8 = GAINS,
                                      .counts = COUNTS};
        sim->channels[i] = channel;
    }
    const tcuq_profile profile = {
        .format = TCUQ_PROFILE_FORMAT,
        .classes = CLASSES,
        .change_q8 = 256u,
        .novelty_limit_q10 = UINT16_MAX,
        .lag_count = 1u,
        .lags = {1u},
        .alpha_q16 = 6554u,
        .step = 64u,
        .start = sim->null_risks[QUANTILES * 9u / 10u],
        .anchor = sim->null_risks[QUANTILES * 9u / 10u],
        .rate_q16 = 9830u,
        .burst_q16 = 20u * TCUQ_TOKEN,
        .channels = sim->channels,
        .channel_count = CHANNELS,
        .alarm_limit = ALARM_LIMIT,
        .epoch_steps = sim->plan.epoch_steps,
    };
    sim->profile = profile;
}

/* A block's sum as the number of edges that it passes, from 16 random bits. */
static uint8_t edges_passed(uint64_t bits, const uint32_t *probabilities_q16)
{
    const uint32_t draw = (uint32_t)bits & 0xFFFFu;
    return (uint8_t)((draw < probabilities_q16[0]) + (draw < probabilities_q16[1]) +
                      (draw < probabilities_q16[2]));
}

/* End a block with one bet per channel; returns the alarm's flags. */
static uint8_t end_block(const simulation *sim, device *dev, const tcuq_monitor *monitor, uint32_t number)
{
    const uint64_t hour = mix64((((uint64_t)dev->info.cohort << 32) | dev->hour) + 1u);
    const uint64_t common = mix64(sim->plan.seed ^ mix64(hour + number));
    const uint64_t own = random_next(&dev->random);
    const uint64_t choice = random_next(&dev->random);
    const bool drifts = (dev->hour >= dev->info.drifts_from) && ((uint8_t)choice < dev->severity);
    const bool shared = ((choice >> 8) & 0xFFFFu) < sim->plan.sharing_q16;
    const uint64_t bits = (!drifts && shared) ? common : own;
    const uint32_t *probabilities_q16 = drifts ? drift_q16 : null_q16;
    uint32_t flags = 0u;
    for (uint32_t i = 0u; i < CHANNELS; i++) {
        flags |= tcuq_alarm_block(monitor, i, edges_passed(bits >> (16u * i), probabilities_q16));
    }
    return (uint8_t)(flags & ~TCUQ_AMBER);
}

void run_steps(const simulation *sim, device *dev, const tcuq_monitor *monitor, uint32_t steps)
{
    const bool drifts = dev->hour >= dev->info.drifts_from;
    const uint16_t *risks = drifts ? sim->drift_risks : sim->null_risks;
    const int16_t *odds_q10 = drifts ? sim->drift_odds_q10 : sim->null_odds_q10;
    tcuq_signals signals = {0};
    uint64_t bits = 0u;
    uint32_t number = 0u;
    for (uint32_t i = 0u; i < steps; i++) {
        tcuq_decision decision = {0};
        bits = ((i % 5u) == 0u) ? random_next(&dev->random) : (bits >> 12);
        decision.risk = risks[bits % QUANTILES];
        decision.expected_error = decision.risk;
        const int16_t odds = odds_q10[bits % QUANTILES];
        signals.low_confidence_q10 = (odds < 0) ? odds : 0;
        tcuq_threshold_run(monitor, &decision);
        tcuq_budget_run(monitor, &decision);
        dev->block_steps++;
        if (dev->block_steps >= sim->plan.block) {
            dev->block_steps = 0u;
            decision.alarm = end_block(sim, dev, monitor, number);
            number++;
        }
        tcuq_epoch_count(monitor, 1u);
        tcuq_telemetry_count(monitor, &signals, &decision);
    }
}
