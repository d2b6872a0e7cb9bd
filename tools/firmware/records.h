/* SPDX-License-Identifier: Apache-2.0 */
/* What golden.py writes: states of a monitor, and the master key their records are signed with. */
#ifndef RECORDS_H
#define RECORDS_H

#include "tcuq_uplink.h"

typedef struct {
    tcuq_identity identity;
    uint32_t profile;
    tcuq_core core;
    tcuq_channel blocks[TCUQ_MAX_CHANNELS];
    tcuq_channel_state channels[TCUQ_MAX_CHANNELS];
    uint8_t channel_count;
    tcuq_telemetry telemetry;
} golden_state;

extern const golden_state golden_states[];
extern const uint32_t golden_count;
extern const uint8_t golden_master[32];
extern const uint8_t golden_key;

#endif
