/* SPDX-License-Identifier: Apache-2.0 */
/* The alarm and the epoch stated a second time, by docs/spec/arithmetic.md: exact where the specification
 * is, and in double precision where it allows an error. */
#ifndef FUZZ_ALARM_MODEL_H
#define FUZZ_ALARM_MODEL_H

#include "subject.h"
#include "tcuq_internal.h"

/* What was before a step, and the step's signals. */
typedef struct {
    memory copy;
    tcuq_core core;
    tcuq_channel_state channels[TCUQ_MAX_CHANNELS];
    tcuq_signals signals;
    int32_t health_change; /* of the statistic that is farthest from calibration */
    bool runs; /* the profile has an alarm */
} alarm_model;

void model_start(alarm_model *model, const subject *of);
void model_end(alarm_model *model);

/* Before and after a step of a monitor: its channels, epoch and decision are the model's. */
void model_before(alarm_model *model, const memory *of, const uint8_t *posterior, const int8_t *features,
                  const int16_t *health);
void model_after(alarm_model *model, const memory *of, const tcuq_decision *decision);

/* The running epoch's evidence is that of the channels' states. */
void model_evidence(const memory *of, int16_t evidence_q8);

#endif
