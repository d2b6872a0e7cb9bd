/* SPDX-License-Identifier: Apache-2.0 */
/* What the stages hand to each other. */
#ifndef TCUQ_INTERNAL_H
#define TCUQ_INTERNAL_H

#include "tcuq.h"

#if defined(__ARM_FEATURE_DSP) && (__ARM_FEATURE_DSP == 1) && !defined(__FRAMAC__)
#include <arm_acle.h>
#define TCUQ_DSP 1
#else
#define TCUQ_DSP 0
#endif

/* Kept out of its caller, so that its stack is free again when it returns. */
#if defined(__GNUC__)
#define TCUQ_OWN_FRAME __attribute__((noinline))
#else
#define TCUQ_OWN_FRAME
#endif

/* Formats: docs/spec/arithmetic.md. */
typedef struct {
    uint16_t label;
    uint32_t confidence_q16;       /* 0..65536 */
    uint16_t values_q15[4];        /* divergence, instability (0..65535), inconsistency, doubt */
    int16_t low_confidence_q10;    /* log2(1 - confidence + 1e-5) */
    int16_t novelty_q10;           /* log2(1 + squared distance) */
    bool whole_past;
} tcuq_signals;

extern const uint16_t tcuq_xlog2x_q16[257];
extern const uint16_t tcuq_log2_q15[33];
extern const uint8_t tcuq_rsqrt_seed[24];
extern const uint16_t tcuq_sigmoid_q16[34];
extern const uint32_t tcuq_crc32_nibble[16];

/* Evidence of an epoch stops here: no sum of gains overflows. */
#define TCUQ_EPOCH_MAX (INT32_MAX / 2)

/* Of a snapshot: its first four bytes, and the sizes of its first and its last parts. */
#define TCUQ_SNAPSHOT_MAGIC 0x51554354u /* "TCUQ" */
#define TCUQ_SNAPSHOT_HEAD 12u
#define TCUQ_SNAPSHOT_CORE 14u
#define TCUQ_SNAPSHOT_CRC 4u

uint16_t tcuq_log2_q10(uint32_t value);
uint16_t tcuq_rsqrt_q14(uint32_t normalised);
uint32_t tcuq_sigmoid(int32_t logit_q16);
uint32_t tcuq_crc32(const uint8_t *bytes, uint32_t size);
uint8_t *tcuq_put(uint8_t *at, uint32_t value, uint8_t bytes);

/* value / 2^shift rounded down, for either sign, shift 0..30. */
static inline int32_t tcuq_floor_shift(int32_t value, uint8_t shift)
{
#if defined(__GNUC__)
    return value >> shift; /* gcc and clang define it: arithmetic */
#else
    if (value >= 0) {
        return (int32_t)((uint32_t)value >> shift);
    }
    return -1 - (int32_t)((uint32_t)(-1 - value) >> shift);
#endif
}

/* Sum of products of at most 32 pairs; |sum| <= 2^19. */
static inline int32_t tcuq_dot(const int8_t *left, const int8_t *right, uint32_t count)
{
    int32_t sum = 0;
    uint32_t i = 0u;
#if TCUQ_DSP
    /* Four products in two instructions: the compiler does not find these by itself. */
    for (; (i + 4u) <= count; i += 4u) {
        uint32_t a;
        uint32_t b;
        __builtin_memcpy(&a, &left[i], 4);
        __builtin_memcpy(&b, &right[i], 4);
        const uint32_t odd_a = (a >> 8) | (a << 24); /* a rotation, free in SXTB16 */
        const uint32_t odd_b = (b >> 8) | (b << 24);
        sum = __smlad(__sxtb16((int8x4_t)a), __sxtb16((int8x4_t)b), sum);
        sum = __smlad(__sxtb16((int8x4_t)odd_a), __sxtb16((int8x4_t)odd_b), sum);
    }
#endif
    for (; i < count; i++) {
        sum += (int32_t)left[i] * right[i];
    }
    return sum;
}

void tcuq_signals_run(const tcuq_monitor *monitor, const uint8_t *posterior,
                      const int8_t *features, tcuq_signals *signals);
void tcuq_signals_reset(const tcuq_monitor *monitor);
void tcuq_signals_refresh(const tcuq_monitor *monitor);
int16_t tcuq_signal_value(const tcuq_signals *signals, uint8_t signal);

uint16_t tcuq_score_run(const tcuq_monitor *monitor, const tcuq_signals *signals);
void tcuq_score_reset(const tcuq_monitor *monitor);

bool tcuq_threshold_run(const tcuq_monitor *monitor, uint16_t risk, tcuq_decision *decision);
void tcuq_threshold_reset(const tcuq_monitor *monitor);

uint8_t tcuq_budget_run(const tcuq_monitor *monitor, bool asked);
void tcuq_budget_reset(const tcuq_monitor *monitor);

#if TCUQ_WITH_NOVELTY
int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features);
#endif

#if TCUQ_WITH_ALARM
uint8_t tcuq_alarm_run(const tcuq_monitor *monitor, const tcuq_signals *signals);
void tcuq_alarm_reset(const tcuq_monitor *monitor);
void tcuq_alarm_reset_history(const tcuq_monitor *monitor);
#endif

#if TCUQ_WITH_TELEMETRY
void tcuq_telemetry_count(const tcuq_monitor *monitor, const tcuq_decision *decision);
void tcuq_telemetry_reset(const tcuq_monitor *monitor);
#endif

#ifdef __FRAMAC__
#include "tcuq_acsl.h"
#endif

#endif
