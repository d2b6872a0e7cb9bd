/* SPDX-License-Identifier: Apache-2.0 */
/* Input health: statistics of raw samples, which tcuq_step compares with those of calibration. Adds samples as
 * they come, without a buffer. docs/spec/arithmetic.md is normative for every number here. */
#ifndef TCUQ_HEALTH_H
#define TCUQ_HEALTH_H

#include "tcuq.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_HEALTH_MAX_CHANNELS 64u  /* of a group */
#define TCUQ_HEALTH_MAX_FRAMES 65535u /* of a window */

/* Sums of a channel. */
typedef struct {
    int32_t sum;
    int16_t last;
    uint16_t repeats; /* samples that equal the one before; the first of a window counts as one */
} tcuq_health_channel;

/* Channels that are judged together, such as the three axes of an accelerometer, and their sums. The
 * statistics of a group are, in this order: level, roughness, repeats and, if asked for, spread. Repeats are 1 if
 * the whole window repeats the one before. */
typedef struct {
    uint64_t differences; /* squared, of successive samples */
    uint64_t squares;
    uint8_t channels; /* 1..64, consecutive in a frame; the caller sets it */
    bool spread;      /* the caller sets it */
    uint32_t before;  /* the sums of the window before this one, folded; 0: there is none */
} tcuq_health_group;

/* The caller's memory: the groups in the order of a frame's channels, and one tcuq_health_channel per channel. */
typedef struct {
    tcuq_health_group *groups;
    tcuq_health_channel *channels;
    uint16_t frames; /* added since the window began */
    uint16_t width;  /* channels of all groups; tcuq_health_init counts them */
    uint8_t group_count;
} tcuq_health;

/* Threads and interrupts: no globals; one health is used by one caller at a time, so that a sampling interrupt
 * that folds must be held off while tcuq_health_finish runs. Undefined: calls before tcuq_health_init returned
 * TCUQ_OK, null or shorter arrays than stated; arrays are aligned as their types. */

/* Checks everything once and begins a window; the functions below then need no checks.
 * health: groups, channels and group_count are the caller's; null and unsound ones are refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_health_init(tcuq_health *health);

/* Adds a frame: one sample of every channel. Fit for a sampling interrupt. A window takes its first 65,535
 * frames; those after them are ignored.
 * health: after tcuq_health_init.
 * frame: `width` samples, in the order of the groups. */
void tcuq_health_fold(tcuq_health *health, const int16_t *frame);

/* Adds frames that lie one after another, as in a DMA buffer: the same sums in fewer instructions.
 * health: after tcuq_health_init.
 * frames: count times `width` samples; not read if count is 0.
 * count: any number. */
void tcuq_health_fold_frames(tcuq_health *health, const int16_t *frames, uint32_t count);

/* Writes the statistics of the window in Q10 and begins the next one. False, with every statistic 0, if the
 * window has no frame.
 * health: after tcuq_health_init.
 * statistics: takes three numbers for each group, four for one with spread. */
TCUQ_MUST_CHECK bool tcuq_health_finish(tcuq_health *health, int16_t *statistics);

#ifdef __cplusplus
}
#endif

#endif
