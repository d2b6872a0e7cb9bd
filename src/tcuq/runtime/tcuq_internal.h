/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages hand to each other. */
#ifndef TCUQ_INTERNAL_H
#define TCUQ_INTERNAL_H

#include "tcuq_simd.h"

/* Kept out of its caller, so that its stack is free again when it returns. */
#if defined(__clang__)
#define TCUQ_NOINLINE __attribute__((noinline))
#elif defined(__GNUC__)
#define TCUQ_NOINLINE __attribute__((noinline, noclone))
#else
#define TCUQ_NOINLINE
#endif

/* Where speed is asked for, not size. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE_SIZE__) && !defined(__FRAMAC__)
#define TCUQ_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define TCUQ_UNROLL_4
#endif

/* Formats: docs/spec/arithmetic.md. */
typedef struct {
    uint16_t label;
    uint32_t confidence_q16;       /* 0..65536 */
    uint16_t values_q15[4];        /* divergence, instability (0..65535), inconsistency, doubt */
    int16_t low_confidence_q10;    /* log2(1 - confidence + 1e-5), or departure */
    int16_t novelty_q10;           /* log2(1 + squared distance) */
    int16_t contradiction_q10;     /* log2 of how much the past speaks against the label */
    bool whole_past;
    bool health_given;
    int16_t health_q10;            /* log2(1 + sum of squared standard scores); 0 if not given */
    uint16_t health_worst;         /* largest standard score in Q5, shifted by 4, and its statistic */
    int32_t product;               /* of projected features with those that they replaced */
    int16_t risk_odds_q10;         /* log2 of risk / (1 - risk), by the alarm; 0 without channels */
} tcuq_signals;

extern const uint16_t tcuq_xlog2x_q15[130];
extern const uint16_t tcuq_log2_q15[33];
extern const uint8_t tcuq_rsqrt_seed[24];
extern const uint16_t tcuq_eighths_q15[8];
extern const uint8_t tcuq_rest[3];
extern const uint16_t tcuq_sigmoid_q16[34];
extern const uint16_t tcuq_share_q15[9];
extern const uint8_t tcuq_log_add_q8[65];

/* `int` may have 16 bits: what needs more says so. */
#define TCUQ_MAX_BIAS ((int32_t)1 << 29)
#define TCUQ_MAX_CENTRE ((int32_t)1 << 30) /* of a block's sum */

/* Novelty: a step's surprise counts up to 16 bits; on calibration its mean is log2(e) bits; and the mean
 * over past steps is smoothed by 2^-5. */
#define TCUQ_MAX_BITS_Q10 16384u
#define TCUQ_MEAN_BITS_Q10 1477u
#define TCUQ_RECENT_EWMA 5u
#define TCUQ_RECENT_MAX ((uint32_t)TCUQ_MAX_TERMS * TCUQ_MAX_BITS_Q10 * 256u)

/* log2 of no evidence at all. */
#define TCUQ_LOG_ZERO INT16_MIN

/* Counts of blocks are in 1/16; none is larger than TCUQ_COUNT_MAX after a block. */
#define TCUQ_UNITS_PER_BLOCK 16u
#define TCUQ_COUNT_MAX (UINT16_MAX - TCUQ_UNITS_PER_BLOCK)

#define TCUQ_BEYOND_START (TCUQ_UNITS_PER_BLOCK / 4u) /* a quarter block beyond all of calibration's */

/* A bet's sum stops at 2^27 blocks: an alarm needs less. */
#define TCUQ_MAX_LEVEL 216u

/* The amber light among the flags of tcuq_alarm_block. */
#define TCUQ_AMBER 64u

#define TCUQ_BLOCK_STEPS_MASK ((1u << TCUQ_RECENT_SHIFT) - 1u)

/* Of a snapshot: its first four bytes, and the sizes of its first and its last parts. */
#define TCUQ_SNAPSHOT_MAGIC 0x51554354u /* "TCUQ" */
#define TCUQ_SNAPSHOT_VERSION 3u /* in the highest byte of the size; raised when the state changes */
#define TCUQ_SNAPSHOT_HEAD 12u
#define TCUQ_SNAPSHOT_CORE 36u
#define TCUQ_SNAPSHOT_CHANNEL 32u
#define TCUQ_SNAPSHOT_COUNTERS 51u
#define TCUQ_SNAPSHOT_MEANS 52u /* means, last label and sums */
#define TCUQ_SNAPSHOT_CRC 4u

/* (1/256 bit, 1/2 bit) rounded down, the lowest for less: an e-value of 0. */
/*@ assigns \nothing; */
static inline int8_t tcuq_half_bits(int32_t evidence_q8)
{
    return (int8_t)tcuq_saturate_8(tcuq_floor_shift(evidence_q8, 7u));
}

/*@ assigns \nothing;
    ensures -128 <= \result <= 127; */
static inline int8_t tcuq_signed_byte(uint8_t byte)
{
    return (int8_t)((byte < 128u) ? (int16_t)byte : (int16_t)byte - 256);
}

/* Whether a step carries outputs in place of a posterior. */
/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures TCUQ_WITH_OUTPUTS == 0 && TCUQ_WITH_CLASSES == 1 ==> !\result; */
static inline bool tcuq_has_outputs(const tcuq_profile *profile)
{
#if TCUQ_WITH_OUTPUTS && TCUQ_WITH_CLASSES
    return profile->blend_q15 == TCUQ_NO_CLASSES;
#else
    (void)profile;
    return !TCUQ_WITH_CLASSES;
#endif
}

/* (Q10, 1/8) A change, at most 127 eighths either way, rounded to the nearest. */
/*@ requires -0x7FFFFF00 <= change_q10 <= 0x7FFFFF00;
    assigns \nothing;
    ensures -127 <= \result <= 127; */
static inline int8_t tcuq_change(int32_t change_q10)
{
    const int32_t eighths = (change_q10 + ((change_q10 < 0) ? -64 : 64)) / 128;
    return (int8_t)((eighths > 127) ? 127 : ((eighths < -127) ? -127 : eighths));
}

/* A signal in the unit its term's table is in: Q14 for the first four, Q10 for the logarithms. */
static inline int16_t tcuq_signal_value(const tcuq_signals *signals, uint8_t signal)
{
    if (signal == (uint8_t)TCUQ_LOW_CONFIDENCE) {
        return signals->low_confidence_q10;
    }
    if (signal == (uint8_t)TCUQ_NOVELTY) {
        return signals->novelty_q10;
    }
    if (signal == (uint8_t)TCUQ_CONTRADICTION) {
        return signals->contradiction_q10;
    }
    return (int16_t)(signals->values_q15[signal & 3u] >> 1);
}

uint16_t tcuq_log2_q10(uint32_t value);
uint16_t tcuq_rsqrt_q14(uint32_t normalised);
uint32_t tcuq_sigmoid(int32_t logit_q16);
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size);
void tcuq_put_counters(const tcuq_monitor *monitor, uint8_t *at);

/* A place in a snapshot: where the state goes to or, if that is null, comes from. */
typedef struct {
    uint8_t *to;
    const uint8_t *from;
} tcuq_place;

void tcuq_move_state(const tcuq_monitor *monitor, tcuq_place *at);
void tcuq_move_counters(tcuq_place *at, tcuq_telemetry *telemetry);

typedef struct {
    uint32_t sum;
    uint32_t one_q32; /* the reciprocal of the sum: a share of it is at most 1, so no product overflows; 0 of 0 */
    uint16_t label;
    uint16_t second_label; /* of the second largest; means nothing if that is 0 */
    uint16_t zeros;        /* classes */
    uint8_t first;
    uint8_t second;
    uint16_t entropy_q12;
} tcuq_posterior;

/* Where the past of each lag is. */
typedef struct {
    uint32_t count;
    uint8_t slots[TCUQ_MAX_LAGS];
} tcuq_past;

/* Sums over features: of squares, and of products with those they replaced. */
typedef struct {
    int32_t square;
    int32_t product;
} tcuq_replaced;

void tcuq_read_posterior(const uint8_t *posterior, uint32_t classes, tcuq_posterior *read);
int16_t tcuq_contradiction(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_posterior *read);
uint32_t tcuq_mixture_q17(const uint8_t *now, const uint8_t *past, uint32_t classes);

bool tcuq_features_sound(const tcuq_profile *profile);
tcuq_replaced tcuq_replace(const int8_t *features, uint32_t count, int8_t *old);
tcuq_replaced tcuq_replace_selected(const int8_t *features, const uint8_t *selection, uint32_t count, int8_t *old);
#if TCUQ_WITH_PROJECTION
int32_t tcuq_project(const tcuq_profile *profile, const int8_t *wide, int8_t *old);
#endif
#if TCUQ_FOURS
int32_t tcuq_replace_of_three(const int8_t *features, uint32_t count, int8_t *old, const int8_t *one,
                              const int8_t *two, int32_t *products);
#endif
void tcuq_length(int32_t square, tcuq_slot *slot);
int32_t tcuq_dot(const int8_t *left, const int8_t *right, uint32_t count);

const int8_t *tcuq_signals_run_core(const tcuq_monitor *monitor, const uint8_t *posterior,
                           const int8_t *features, tcuq_signals *signals);
bool tcuq_signals_sound(const tcuq_profile *profile);
bool tcuq_lags_sound(const tcuq_profile *profile);
void tcuq_signals_reset(const tcuq_monitor *monitor);
void tcuq_signals_refresh(const tcuq_monitor *monitor);
bool tcuq_signal_given(const tcuq_profile *profile, uint8_t signal);

void tcuq_score_run(const tcuq_monitor *monitor, const tcuq_signals *signals, tcuq_decision *decision);
bool tcuq_score_sound(const tcuq_profile *profile);
#if TCUQ_WITH_ANCHORED
bool tcuq_score_smooths(const tcuq_profile *profile);
void tcuq_score_reset(const tcuq_monitor *monitor);
#endif

void tcuq_threshold_run(const tcuq_monitor *monitor, tcuq_decision *decision);
bool tcuq_threshold_sound(const tcuq_profile *profile);
void tcuq_threshold_reset(const tcuq_monitor *monitor);

void tcuq_budget_run(const tcuq_monitor *monitor, tcuq_decision *decision);
bool tcuq_budget_sound(const tcuq_profile *profile);
void tcuq_budget_reset(const tcuq_monitor *monitor);

#if TCUQ_WITH_NOVELTY
bool tcuq_novelty_sound(const tcuq_profile *profile);
int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features);
#endif

#if TCUQ_WITH_HEALTH
bool tcuq_health_sound(const tcuq_profile *profile);
void tcuq_health_run(const tcuq_profile *profile, const int16_t *health, tcuq_signals *signals);
#endif

#if TCUQ_WITH_ALARM
void tcuq_alarm_run(const tcuq_monitor *monitor, tcuq_signals *signals, tcuq_decision *decision);
uint8_t tcuq_alarm_block(const tcuq_monitor *monitor, uint32_t index, uint32_t passed);
bool tcuq_alarm_sound(const tcuq_profile *profile);
void tcuq_alarm_forget(const tcuq_monitor *monitor);
/* A vote of the health statistic that is farthest from calibration. */
void tcuq_alarm_suspect(const tcuq_monitor *monitor, const int16_t *health, uint16_t farthest);
/* At every fourth step, before the alarm. */
static inline void tcuq_alarm_note(const tcuq_monitor *monitor, const int16_t *health, const tcuq_signals *signals)
{
    if ((signals->health_worst != 0u) && ((monitor->core->epoch_steps & 3u) == 0u) &&
        (monitor->profile->channel_count != 0u)) {
        tcuq_alarm_suspect(monitor, health, signals->health_worst);
    }
}

void tcuq_alarm_reset(const tcuq_monitor *monitor);
bool tcuq_counts_sound(const uint16_t *counts, uint32_t count);
int16_t tcuq_risk_odds_q10(uint16_t risk);

void tcuq_bets_rest(tcuq_channel_state *state);
void tcuq_bets_take(tcuq_channel_state *state, uint32_t passed);
bool tcuq_amber(const tcuq_monitor *monitor);
/* The change of the last alarm's channel, as in a record; 0: none. */
int8_t tcuq_last_change(const tcuq_monitor *monitor);

void tcuq_epoch_bet(tcuq_channel_state *state, int32_t gain_q8);
void tcuq_epoch_count(const tcuq_monitor *monitor, uint32_t steps);
void tcuq_epoch_start(const tcuq_monitor *monitor);
#endif

#if TCUQ_WITH_TELEMETRY
void tcuq_telemetry_count(const tcuq_monitor *monitor, const tcuq_signals *signals, const tcuq_decision *decision);
void tcuq_telemetry_reset(const tcuq_monitor *monitor);
void tcuq_means_reset(const tcuq_monitor *monitor);
uint16_t tcuq_mean(const tcuq_monitor *monitor, uint32_t which);
#endif

#ifdef __FRAMAC__
#include "tcuq_acsl.h"
#include "tcuq_acsl_alarm.h"
#include "tcuq_acsl_signals.h"
#include "tcuq_acsl_novelty.h"
#include "tcuq_acsl_health.h"
#include "tcuq_acsl_past.h"
#include "tcuq_acsl_score.h"
#include "tcuq_acsl_monitor.h"
#endif

#if TCUQ_WITH_ALARM
/* The sum of a bet that does not rest, in steps, at most 2^30: an alarm needs less. */
/*@ requires zeros <= 31 && block <= TCUQ_MAX_BLOCK;
    assigns \nothing;
    ensures \result <= 0x40000000; */
static inline uint32_t tcuq_sum_of(uint32_t level, uint32_t rest, uint32_t zeros, uint32_t block)
{
    const uint32_t octave = level >> 3;
    uint32_t sum = 0x40000000u;
    if (level <= rest) {
        return 0u;
    }
    if ((octave + 1u) < zeros) {
        sum = ((uint32_t)tcuq_eighths_q15[level & 7u] << 16) >> (zeros - octave);
    }
    return (sum > block) ? sum - block : 0u;
}

/* The sums of a channel's bets. */
/*@ requires \valid_read(channel) && \valid_read(state) && tcuq_channel_ok(channel);
    assigns \nothing;
    ensures \result <= 0xC0000000; */
static inline uint32_t tcuq_channel_evidence(const tcuq_channel *channel, const tcuq_channel_state *state)
{
    const uint32_t zeros = tcuq_leading_zeros(channel->block); /* 31 less the block's logarithm */
    return tcuq_sum_of(state->levels[0], tcuq_rest[0], zeros, channel->block) +
           tcuq_sum_of(state->levels[1], tcuq_rest[1], zeros, channel->block) +
           tcuq_sum_of(state->levels[2], tcuq_rest[2], zeros, channel->block);
}
#endif

/* Steps that the ring holds. */
static inline uint8_t tcuq_ring_size(const tcuq_profile *profile)
{
    return profile->lags[profile->lag_count - 1u];
}

/* Features of a slot; null if the profile has none. */
static inline int8_t *tcuq_features_at(const tcuq_monitor *monitor, uint32_t at)
{
    const uint32_t dimensions = monitor->profile->dimensions;
    //@ assert 0 <= tcuq_cells(at, dimensions) <= 255000;
    return (dimensions != 0u) ? &monitor->features[at * dimensions] : NULL;
}

/* The signal of input health: not given without statistics, or if the profile has no reference. */
static inline void tcuq_signals_health(const tcuq_profile *profile, const int16_t *health,
                                       tcuq_signals *signals)
{
    signals->health_given = false;
    signals->health_q10 = 0;
    signals->health_worst = 0u;
#if TCUQ_WITH_HEALTH
    if ((profile->health_count != 0u) && (health != NULL)) {
        tcuq_health_run(profile, health, signals);
    }
#else
    (void)profile;
    (void)health;
#endif
}

/* All signals. Inline, so that the frames of its parts do not stand on another. */
static inline void tcuq_signals_run(const tcuq_monitor *monitor, const uint8_t *posterior,
                                    const int8_t *features, const int16_t *health,
                                    tcuq_signals *signals)
{
    //@ ghost const tcuq_profile *profile = monitor->profile;
    //@ assert TCUQ_ROW_WITHIN(monitor->core->next, profile->dimensions) && tcuq_rows_within(profile);
    //@ assert tcuq_novelty_given(profile) && tcuq_novelty_ok(profile);
    const int8_t *row = tcuq_signals_run_core(monitor, posterior, features, signals);
    //@ assert monitor->profile == profile;
    //@ assert tcuq_sizes_kept{Pre, Here}(profile) && tcuq_novelty_kept{Pre, Here}(profile);
    //@ assert tcuq_novelty_given(profile);
    //@ assert profile->whitening != \null ==> tcuq_tables_kept{Pre, Here}(profile);
    //@ assert profile->whitening != \null ==> tcuq_means_kept{Pre, Here}(profile);
    //@ assert profile->whitening != \null ==> tcuq_whitening_ok(profile);
    //@ assert profile->whitening != \null ==> tcuq_shifts_ok(profile, 4 * tcuq_quads_of(profile));
    //@ assert profile->whitening != \null ==> tcuq_means_ok(profile, profile->mean_count);
    //@ assert profile->dimensions != 0 ==> \valid_read(row + (0 .. profile->dimensions - 1));
    int16_t novelty_q10 = 0;
#if TCUQ_WITH_NOVELTY
    if (monitor->profile->whitening != NULL) {
        novelty_q10 = tcuq_novelty_run(monitor->profile, row);
    }
#else
    (void)row;
#endif
    signals->novelty_q10 = novelty_q10;
    tcuq_signals_health(monitor->profile, health, signals);
}

#endif
