/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a trace: one array per member of a decision, for Python's engine and for the browser's. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>

#include "tcuq.h"

#define LEVELS ((double)TCUQ_RISK_LEVELS)
#define LEVELS_Q16 (LEVELS * 65536.0)
#define BIT_Q10 1024.0
#define EIGHTHS 8.0

/* Name and type of each column, in their order. */
#define COLUMNS(COLUMN)                                                                            \
    COLUMN(label, int32_t)                                                                         \
    COLUMN(steady_label, int32_t)                                                                  \
    COLUMN(risk, double)                                                                           \
    COLUMN(expected_error, double)                                                                 \
    COLUMN(novelty, double)                                                                        \
    COLUMN(threshold, double)                                                                      \
    COLUMN(exceeded, uint8_t)                                                                      \
    COLUMN(reason, uint8_t)                                                                        \
    COLUMN(outcome, uint8_t)                                                                       \
    COLUMN(withheld, uint8_t)                                                                      \
    COLUMN(alarm, uint8_t)                                                                         \
    COLUMN(amber, uint8_t)                                                                         \
    COLUMN(cause, uint8_t)                                                                         \
    COLUMN(change, double)                                                                         \
    COLUMN(promised, uint8_t)

typedef struct {
#define COLUMN_POINTER(name, type) type *name;
    COLUMNS(COLUMN_POINTER)
#undef COLUMN_POINTER
} columns;

#define COLUMN_ONE(name, type) +1
enum { COLUMN_COUNT = 0 COLUMNS(COLUMN_ONE) };
#undef COLUMN_ONE

/* Whether a step is accepted and a bound on the accepted error stands, if the profile has one. */
static inline bool columns_promised(const tcuq_monitor *monitor, const tcuq_decision *d, bool bound)
{
    return bound && (d->outcome == TCUQ_ACCEPT) && !tcuq_alarm_stands(monitor);
}

/* Takes a step and writes its decision. */
static inline void columns_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
                                const int16_t *health, bool bound, const columns *to, size_t i)
{
    tcuq_decision d;
    tcuq_step(monitor, posterior, features, health, &d);
    to->label[i] = d.label;
    to->steady_label[i] = d.steady_label;
    to->risk[i] = d.risk / LEVELS;
    to->expected_error[i] = d.expected_error / LEVELS;
    to->novelty[i] = d.novelty_q10 / BIT_Q10;
    to->threshold[i] = d.threshold_q16 / LEVELS_Q16;
    to->exceeded[i] = d.exceeded;
    to->reason[i] = d.reason;
    to->outcome[i] = d.outcome;
    to->withheld[i] = d.withheld;
    to->alarm[i] = d.alarm;
    to->amber[i] = d.amber;
    to->cause[i] = d.cause;
    to->change[i] = d.change / EIGHTHS;
    to->promised[i] = columns_promised(monitor, &d, bound) ? 1u : 0u;
}

#endif
