/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of each build of the runtime that is linked in. */
#include "subject.h"

#define INTERFACE(prefix)                                                                    \
    {                                                                                        \
        prefix##tcuq_init, prefix##tcuq_step, prefix##tcuq_reset, prefix##tcuq_reset_history, \
            prefix##tcuq_alarm_acknowledge, prefix##tcuq_epoch_evidence, prefix##tcuq_snapshot_size, prefix##tcuq_snapshot,   \
            prefix##tcuq_restore                                                              \
    }

const interface first_build = INTERFACE();

#ifdef FUZZ_PAIR

tcuq_status dsp_tcuq_init(tcuq_monitor *monitor);
void dsp_tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
                   const int16_t *health, tcuq_decision *decision);
void dsp_tcuq_reset(tcuq_monitor *monitor);
void dsp_tcuq_reset_history(tcuq_monitor *monitor);
void dsp_tcuq_alarm_acknowledge(tcuq_monitor *monitor);
int16_t dsp_tcuq_epoch_evidence(const tcuq_monitor *monitor);
uint32_t dsp_tcuq_snapshot_size(const tcuq_monitor *monitor);
tcuq_status dsp_tcuq_snapshot(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size);
tcuq_status dsp_tcuq_restore(tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size);

const interface second_build = INTERFACE(dsp_);

#else

const interface second_build = INTERFACE();

#endif
