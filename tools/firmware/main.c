/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the monitor over steps.bin (posterior, features and health of a step, step after step) and writes a
 * tcuq_decision a step to decisions.bin: 12 bytes, little-endian as the CPU is. starts.bin, if it exists, has a
 * byte per step; where it is not 0 a recording begins and history is forgotten. Every 128 steps the power
 * is cut: the state goes through a snapshot, a reset and a restore, which must not show. At the end
 * state.bin gets the snapshot, the telemetry record, and the snapshot after the past is forgotten. */
#include "monitor.h"
#include "semihosting.h"

#define BLOCK_BYTES 4096u
#define BLOCK_STEPS 128u
#define SNAPSHOT_BYTES 1024u

_Static_assert(sizeof(tcuq_decision) == 12u, "a decision is 12 bytes on the wire");
_Static_assert(offsetof(tcuq_decision, threshold_q16) == 4u, "threshold after label and risk");
_Static_assert(offsetof(tcuq_decision, alarm) == 10u, "alarm after exceeded and outcome");

static uint8_t block[BLOCK_BYTES];
static uint8_t starts[BLOCK_STEPS];
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
        .device = 0x1122334455667788u, .firmware = 7u, .boot = 3u, .sequence = 9u, .epoch = 5u, .flags = 1u};
    uint8_t record[TCUQ_RECORD_BYTES];
    written = written &&
              (tcuq_record(&firmware_monitor, &identity, record, sizeof record) == TCUQ_OK) &&
              (semihosting_write(to, record, sizeof record) == 0);
#endif
    tcuq_reset_history(&firmware_monitor);
    return written && write_snapshot(to) && (semihosting_close(to) == 0);
}

/* Health follows the bytes before it, where an int16 may not be aligned. */
static const int16_t *read_health(const uint8_t *at, uint32_t count)
{
    static int16_t health[TCUQ_MAX_HEALTH];
    for (uint32_t i = 0u; i < count; i++) {
        health[i] = (int16_t)(uint16_t)(at[2u * i] | ((uint32_t)at[2u * i + 1u] << 8));
    }
    return (count != 0u) ? health : NULL;
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
    const int32_t marks = semihosting_open("starts.bin", FILE_READ);
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
        if ((marks >= 0) && (semihosting_read(marks, starts, steps) != steps)) {
            return EXIT_FILE;
        }
        const uint8_t *at = block;
        for (uint32_t i = 0u; i < steps; i++) {
            if (starts[i] != 0u) {
                tcuq_reset_history(&firmware_monitor);
            }
            const int8_t *features = (const int8_t *)&at[profile->classes];
            const int16_t *health =
                read_health(&at[profile->classes + profile->width], profile->health_count);
            tcuq_step(&firmware_monitor, at, (profile->width != 0u) ? features : NULL, health,
                      &decisions[i]);
            at += step;
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
