/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: a power cut changes nothing, damage is refused, forged values do no harm. */
#include <string.h>

#include "fuzz_case.h"

#define SLACK 8u

/* CRC-32 bit by bit: not the runtime's way. */
uint32_t crc32_of(const uint8_t *from, size_t size)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0u; i < size; i++) {
        crc ^= from[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1u) ? 0xEDB88320u : 0u);
        }
    }
    return ~crc;
}

uint32_t read32(const uint8_t *at)
{
    return at[0] | ((uint32_t)at[1] << 8) | ((uint32_t)at[2] << 16) | ((uint32_t)at[3] << 24);
}

static void write32(uint8_t *at, uint32_t value)
{
    for (uint32_t i = 0u; i < 4u; i++) {
        at[i] = (uint8_t)(value >> (8u * i));
    }
}

/* The first monitor's snapshot in a block of its size. */
static uint8_t *take_snapshot(const memory *of, uint32_t size)
{
    uint8_t *snapshot = malloc(size);
    MUST(of->by->snapshot(&of->monitor, snapshot, size) == TCUQ_OK);
    MUST(crc32_of(snapshot, size - 4u) == read32(&snapshot[size - 4u]));
    return snapshot;
}

/* The monitors' states are equal, but for slots that no step has filled yet and so for the checksum. */
static void check_states(const fuzz_case *on, const uint8_t *snapshot, uint32_t size)
{
    const uint32_t rest = HEAD_BYTES + past_bytes(on);
    uint8_t *other = take_snapshot(&on->second, size);
    MUST(memcmp(snapshot, other, HEAD_BYTES) == 0);
    MUST(memcmp(&snapshot[rest], &other[rest], size - rest - 4u) == 0);
    free(other);
}

/* A power cut: the second monitor starts on other garbage and takes the first's snapshot. */
void op_power_cut(fuzz_case *on)
{
    const uint32_t size = on->first.by->snapshot_size(&on->first.monitor);
    if (!afford(on, 16u * size)) {
        return;
    }
    uint8_t *snapshot = take_snapshot(&on->first, size);
    check_states(on, snapshot, size);
    free_memory(&on->second);
    make_memory(&on->second, &on->of, &second_build, ++on->garbage);
    tcuq_monitor *second = &on->second.monitor;
    MUST(second_build.init(second) == TCUQ_OK);
    MUST(second_build.snapshot_size(second) == size);
    MUST(second_build.restore(second, snapshot, size) == TCUQ_OK);
    uint8_t *again = take_snapshot(&on->second, size);
    MUST(memcmp(snapshot, again, size) == 0);
    free(again);
    free(snapshot);
}

/* A restore of any bytes does what the header says it does. */
static void check_restore(fuzz_case *on, memory *of, uint8_t *snapshot, uint32_t size)
{
    const uint32_t whole = of->by->snapshot_size(&of->monitor);
    uint8_t *before = copy_memory(of);
    const tcuq_status status = of->by->restore(&of->monitor, snapshot, size);
    if ((snapshot == NULL) || (size < 16u) || (memcmp(snapshot, "TCUQ", 4) != 0) ||
        ((read32(&snapshot[8]) & 0xFFFFFFu) != size) ||
        (crc32_of(snapshot, size - 4u) != read32(&snapshot[size - 4u]))) {
        MUST(status == TCUQ_ERROR_SNAPSHOT);
        MUST(is_unchanged(of, before));
    } else if (snapshot[11] != 3u) {
        MUST(status == TCUQ_ERROR_VERSION);
        MUST(is_unchanged(of, before));
    } else if (read32(&snapshot[4]) != on->of.hash) {
        MUST(status == TCUQ_ERROR_FOREIGN);
        MUST(is_unchanged(of, before));
    } else if (size != whole) {
        MUST(status == TCUQ_ERROR_SNAPSHOT);
        MUST(is_unchanged(of, before));
    } else {
        uint8_t *after = take_snapshot(of, whole);
        const bool possible = is_possible(on, snapshot);
        MUST((status != TCUQ_OK) || possible);
        MUST((status == TCUQ_OK) || !possible || !is_in_order(on, snapshot));
        if (status == TCUQ_OK) {
            MUST(memcmp(after, snapshot, whole) == 0);
        } else {
            MUST(status == TCUQ_ERROR_SNAPSHOT);
            of->by->reset(&of->monitor);
            uint8_t *reset = take_snapshot(of, whole);
            MUST(memcmp(after, reset, whole) == 0);
            free(reset);
        }
        free(after);
    }
    free(before);
}

/* Single bytes; long snapshots are mostly past steps: the upper half of places counts from the end. */
static void edit(uint8_t *snapshot, uint32_t whole, bytes *in, uint8_t count)
{
    for (uint8_t i = 0u; i < count; i++) {
        const uint16_t at = take16(in);
        snapshot[(at < 32768u) ? at % whole : whole - 1u - (at - 32768u) % whole] = take8(in);
    }
}

/* Alters a snapshot of the first monitor and offers it to both. */
void op_restore(fuzz_case *on, bytes *in, forgery kind)
{
    const uint32_t whole = on->first.by->snapshot_size(&on->first.monitor);
    const uint8_t edits = (uint8_t)(take8(in) % 8u);
    const uint8_t odd = take8(in); /* mostly the whole snapshot is offered */
    const uint32_t size = (odd >= 0xF0u) ? take16(in) % (whole + SLACK) : whole;
    if (!afford(on, 30u * whole)) {
        return;
    }
    uint8_t *snapshot = take_snapshot(&on->first, whole);
    edit(snapshot, whole, in, edits);
    if (kind == EXTREME) {
        make_extreme(on, snapshot, in);
    }
    if (kind != DAMAGED) {
        write32(&snapshot[whole - 4u], crc32_of(snapshot, whole - 4u));
    }
    uint8_t *offered = calloc(size, 1u);
    memcpy(offered, snapshot, (size < whole) ? size : whole);
    if ((kind != DAMAGED) && (size != whole) && (size >= 16u)) { /* of another size, but consistent */
        write32(&offered[8], (read32(&offered[8]) & 0xFF000000u) | size);
        write32(&offered[size - 4u], crc32_of(offered, size - 4u));
    }
    check_restore(on, &on->first, (odd == 0xEFu) ? NULL : offered, size);
    check_restore(on, &on->second, (odd == 0xEFu) ? NULL : offered, size);
    on->steps = 0u;
    on->abstained = 0u;
    free(offered);
    free(snapshot);
}

/* Too small a buffer is refused and left alone; of too large a one the rest is. */
void op_small_buffer(fuzz_case *on, bytes *in)
{
    const uint32_t whole = on->first.by->snapshot_size(&on->first.monitor);
    const uint32_t size = take16(in) % (whole + SLACK);
    if (!afford(on, 12u * whole)) {
        return;
    }
    uint8_t *buffer = malloc(size);
    memset(buffer, CANARY, size);
    const tcuq_status status = tcuq_snapshot(&on->first.monitor, buffer, size);
    MUST(status == ((size < whole) ? TCUQ_ERROR_BUFFER : TCUQ_OK));
    for (uint32_t i = (size < whole) ? 0u : whole; i < size; i++) {
        MUST(buffer[i] == CANARY);
    }
    MUST(tcuq_snapshot(&on->first.monitor, NULL, whole) == TCUQ_ERROR_BUFFER);
    free(buffer);
}
