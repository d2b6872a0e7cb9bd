/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the monitor over steps.bin (posterior, features and input health of a step, step after step) and
 * writes a tcuq_decision a step to decisions.bin: 16 bytes, little-endian as the CPU is. marks.bin, if it
 * exists, has a byte per step: bit 0, a recording begins and history is forgotten; bit 1, the step carries
 * no health. Every 128 steps the power is cut: the state goes through a snapshot, a reset and a restore,
 * which must not show. At the end state.bin gets the snapshot, the telemetry record, and the snapshot after
 * the past is forgotten. */
#include "monitor.h"
#include "semihosting.h"

#define BLOCK_BYTES 4096u
#define BLOCK_STEPS 128u
#define SNAPSHOT_BYTES 1024u
#define RECORDING_BEGINS 1u
#define NO_HEALTH 2u

_Static_assert(sizeof(tcuq_decision) == 16u, "a decision is 16 bytes on the wire");
_Static_assert(offsetof(tcuq_decision, threshold_q16) == 4u, "threshold after label and risk");
_Static_assert(offsetof(tcuq_decision, alarm) == 10u, "alarm after exceeded and outcome");
_Static_assert(offsetof(tcuq_decision, novelty_q10) == 12u, "novelty last");

static uint8_t block[BLOCK_BYTES];
static uint8_t marks[BLOCK_STEPS];
static uint8_t snapshot[SNAPSHOT_BYTES];
static tcuq_decision decisions[BLOCK_STEPS];

static bool cut_power(void)
{
    const uint32_t size = tcuq_snapshot_size(&firmware_monitor);
    if (tcuq_snapshot(&firmware_monitor, snapshot, sizeof snapshot) != TCUQ_OK) {
        return false;
    }
    tcuq_reset(&firmware_monitor);
    return tcuq_restore(&firmware_monitor, snapshot, size) == TCUQ_OK;
}

static bool write_snapshot(int32_t to)
{
    return (tcuq_snapshot(&firmware_monitor, snapshot, sizeof snapshot) == TCUQ_OK) &&
           (semihosting_write(to, snapshot, tcuq_snapshot_size(&firmware_monitor)) == 0);
}

static bool write_state(void)
{
    const int32_t to = semihosting_open("state.bin", FILE_WRITE);
    bool written = (to >= 0) && write_snapshot(to);
#if TCUQ_WITH_TELEMETRY
    const tcuq_identity identity = {
        .device = 0x1122334455667788u, .firmware = 7u, .boot = 3u, .sequence = 9u};
    uint8_t record[TCUQ_RECORD_BYTES];
    written = written &&
              (tcuq_record(&firmware_monitor, &identity, record, sizeof record) == TCUQ_OK) &&
              (semihosting_write(to, record, sizeof record) == 0);
#endif
    tcuq_reset_history(&firmware_monitor);
    return written && write_snapshot(to) && (semihosting_close(to) == 0);
}

/* One step from its bytes. */
static void take_step(const uint8_t *at, uint8_t mark, tcuq_decision *decision)
{
    const tcuq_profile *profile = firmware_monitor.profile;
    const int8_t *features = (const int8_t *)&at[profile->classes];
    const uint8_t *statistics = &at[(uint32_t)profile->classes + profile->width];
    int16_t health[TCUQ_MAX_HEALTH];
    for (uint32_t j = 0u; j < profile->health_count; j++) {
        health[j] = (int16_t)(statistics[2u * j] | (statistics[2u * j + 1u] << 8));
    }
    if ((mark & RECORDING_BEGINS) != 0u) {
        tcuq_reset_history(&firmware_monitor);
    }
    tcuq_step(&firmware_monitor, at, (profile->width != 0u) ? features : NULL,
              ((mark & NO_HEALTH) != 0u) ? NULL : health, decision);
}

int main(void)
{
    const tcuq_profile *profile = firmware_monitor.profile;
    const uint32_t step = (uint32_t)profile->classes + profile->width + 2u * profile->health_count;
    const uint32_t room = BLOCK_BYTES / step;
    const uint32_t most = (room < BLOCK_STEPS) ? room : BLOCK_STEPS;
    if (tcuq_init(&firmware_monitor) != TCUQ_OK) {
        return EXIT_INIT;
    }
    const int32_t from = semihosting_open("steps.bin", FILE_READ);
    const int32_t to = semihosting_open("decisions.bin", FILE_WRITE);
    const int32_t marked = semihosting_open("marks.bin", FILE_READ);
    if ((from < 0) || (to < 0)) {
        return EXIT_FILE;
    }
    uint32_t size = most * step;
    while (size == most * step) {
        size = semihosting_read(from, block, most * step);
        const uint32_t steps = size / step;
        if ((most == 0u) || (size % step != 0u)) {
            return EXIT_STEP;
        }
        if ((marked >= 0) && (semihosting_read(marked, marks, steps) != steps)) {
            return EXIT_FILE;
        }
        for (uint32_t i = 0u; i < steps; i++) {
            take_step(&block[i * step], marks[i], &decisions[i]);
        }
        if (semihosting_write(to, decisions, steps * (uint32_t)sizeof decisions[0]) != 0) {
            return EXIT_FILE;
        }
        if (!cut_power()) {
            return EXIT_STATE;
        }
    }
    if (!write_state()) {
        return EXIT_STATE;
    }
    return (semihosting_close(to) == 0) ? EXIT_DONE : EXIT_FILE;
}
