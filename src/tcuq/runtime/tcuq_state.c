/* SPDX-License-Identifier: Apache-2.0 */
/* State: all of it to or from a snapshot's bytes, where the CPU keeps it in memory as a snapshot does.
 *
 * Less code than value by value, which tcuq_snapshot.c and tcuq_restore.c do on every other CPU. */
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#if TCUQ_STATE_AS_WIRE

typedef char tcuq_core_is_as_wire[(sizeof(tcuq_core) == TCUQ_SNAPSHOT_CORE) ? 1 : -1];
typedef char tcuq_telemetry_is_as_wire[
    (sizeof(tcuq_telemetry) == (TCUQ_SNAPSHOT_COUNTERS + 1u + TCUQ_SNAPSHOT_MEANS)) ? 1 : -1];
typedef char tcuq_channel_is_as_wire[(sizeof(tcuq_channel_state) == TCUQ_SNAPSHOT_CHANNEL) ? 1 : -1];

/* One part of the state; the place in the snapshot moves on. */
static void tcuq_move_part(tcuq_place *at, void *part, uint32_t size)
{
    uint8_t *state = part;
    for (uint32_t i = 0u; i < size; i++) {
        if (at->to != NULL) {
            *at->to++ = state[i];
        } else {
            state[i] = *at->from++;
        }
    }
}

void tcuq_move_counters(tcuq_place *at, tcuq_telemetry *telemetry)
{
    tcuq_move_part(at, telemetry, offsetof(tcuq_telemetry, reserved));
    tcuq_move_part(at, telemetry->histogram, sizeof telemetry->histogram);
}

void tcuq_move_state(const tcuq_monitor *monitor, tcuq_place *at)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t slots = profile->lags[profile->lag_count - 1u];
    tcuq_move_part(at, monitor->core, TCUQ_SNAPSHOT_CORE);
    tcuq_move_part(at, monitor->posteriors, slots * profile->classes);
    tcuq_move_part(at, monitor->features, slots * profile->dimensions);
    if (monitor->smoothed_q8 != NULL) {
        tcuq_move_part(at, monitor->smoothed_q8, 4u * (uint32_t)profile->term_count);
    }
    tcuq_move_part(at, monitor->channels, TCUQ_SNAPSHOT_CHANNEL * (uint32_t)profile->channel_count);
    if (monitor->telemetry != NULL) {
        tcuq_move_counters(at, monitor->telemetry);
        tcuq_move_part(at, monitor->telemetry->means, TCUQ_SNAPSHOT_MEANS);
    }
}

#endif
