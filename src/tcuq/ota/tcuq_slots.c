/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: the switch between two blobs, and its way through power cuts.
 *
 * Of the switch, little-endian: "TCUS", times it was written, highest number, numbers of both slots, active, before,
 * restarts left, 0, CRC-32 of all before it. */
#include "tcuq_slots.h"

#include "tcuq_blob_internal.h"

#define TCUQ_SLOTS_MAGIC 0x53554354u /* "TCUS" */

static void tcuq_switch_read(tcuq_slots_state *state, const uint8_t *at)
{
    state->saves = tcuq_get_32(&at[4]);
    state->highest = tcuq_get_32(&at[8]);
    state->numbers[0] = tcuq_get_32(&at[12]);
    state->numbers[1] = tcuq_get_32(&at[16]);
    state->active = at[20];
    state->before = at[21];
    state->left = at[22];
}

/* Whether a page holds a whole switch whose values tcuq_switch_write could have written. */
static bool tcuq_switch_whole(const uint8_t *at)
{
    return (tcuq_get_32(at) == TCUQ_SLOTS_MAGIC) && (at[20] <= TCUQ_SLOTS_BUILT_IN) &&
           (at[21] <= TCUQ_SLOTS_BUILT_IN) && (at[23] == 0u) &&
           (tcuq_get_32(&at[24]) == tcuq_crc32(at, TCUQ_SLOTS_BYTES - 4u));
}

/* The newest whole switch of both pages; without one the built-in profile runs. */
static void tcuq_switch_find(const tcuq_slots *slots)
{
    tcuq_slots_state *state = slots->state;
    bool found = false;
    state->saves = 0u;
    state->highest = 0u;
    state->numbers[0] = 0u;
    state->numbers[1] = 0u;
    state->active = TCUQ_SLOTS_BUILT_IN;
    state->before = TCUQ_SLOTS_BUILT_IN;
    state->left = 0u;
    state->page = 1u;
    for (uint8_t page = 0u; page < 2u; page++) {
        const uint8_t *at = slots->pages[page];
        const uint32_t later = tcuq_get_32(&at[4]) - state->saves; /* the number may have wrapped */
        if (tcuq_switch_whole(at) && (!found || (later < 0x80000000u))) {
            tcuq_switch_read(state, at);
            state->page = page;
            found = true;
        }
    }
}

/* One write: the newest switch stays whole in the other page until this one is. */
static bool tcuq_switch_write(const tcuq_slots *slots, const tcuq_slots_state *next)
{
    tcuq_slots_state *state = slots->state;
    const uint8_t page = state->page ^ 1u;
    uint8_t bytes[TCUQ_SLOTS_BYTES];
    tcuq_put_32(bytes, TCUQ_SLOTS_MAGIC);
    tcuq_put_32(&bytes[4], state->saves + 1u);
    tcuq_put_32(&bytes[8], next->highest);
    tcuq_put_32(&bytes[12], next->numbers[0]);
    tcuq_put_32(&bytes[16], next->numbers[1]);
    bytes[20] = next->active;
    bytes[21] = next->before;
    bytes[22] = next->left;
    bytes[23] = 0u;
    tcuq_put_32(&bytes[24], tcuq_crc32(bytes, TCUQ_SLOTS_BYTES - 4u));
    if (!slots->write(slots->write_context, page, bytes, TCUQ_SLOTS_BYTES)) {
        return false;
    }
    tcuq_switch_read(state, bytes);
    state->page = page;
    return true;
}

/* Starts the profile of one slot; a blob must have the number that the switch says. */
static tcuq_blob_status tcuq_slots_run(const tcuq_slots *slots, const tcuq_monitor *monitor, uint8_t slot)
{
    if (slot == TCUQ_SLOTS_BUILT_IN) {
        *slots->loader.room->profile = *slots->built_in;
        return (tcuq_init(monitor) == TCUQ_OK) ? TCUQ_BLOB_OK : TCUQ_BLOB_ERROR_PROFILE;
    }
    const uint8_t *bytes = slots->slots[slot];
    const uint32_t number = slots->state->numbers[slot];
    const tcuq_blob_status status = tcuq_blob_load(&slots->loader, bytes, slots->slot_bytes, number);
    if (status != TCUQ_BLOB_OK) {
        return status;
    }
    return (tcuq_blob_number(bytes) == number) ? tcuq_blob_selftest(monitor, bytes) : TCUQ_BLOB_ERROR_OLD;
}

tcuq_blob_status tcuq_slots_start(const tcuq_slots *slots, const tcuq_monitor *monitor)
{
    tcuq_slots_state *state = slots->state;
    tcuq_blob_status status = TCUQ_BLOB_OK;
    tcuq_switch_find(slots);
    tcuq_slots_state next = *state;
    if (state->left != 0u) {
        next.left--;
        /* counted before the profile is tried, so that one which hangs the device is given up too */
        if (next.left == 0u) {
            status = TCUQ_BLOB_ERROR_TRIAL;
        } else if (!tcuq_switch_write(slots, &next)) {
            status = TCUQ_BLOB_ERROR_FLASH;
        } else {
            /* one more try */
        }
    }
    if (status == TCUQ_BLOB_OK) {
        status = tcuq_slots_run(slots, monitor, state->active);
    }
    if (status == TCUQ_BLOB_OK) {
        return TCUQ_BLOB_OK;
    }
    next = *state;
    next.active = state->before;
    next.before = TCUQ_SLOTS_BUILT_IN;
    next.left = 0u;
    if (tcuq_slots_run(slots, monitor, next.active) != TCUQ_BLOB_OK) {
        next.active = TCUQ_SLOTS_BUILT_IN;
        (void)tcuq_slots_run(slots, monitor, TCUQ_SLOTS_BUILT_IN);
    }
    if (!tcuq_switch_write(slots, &next)) {
        state->active = next.active; /* runs now; the next restart decides again */
        state->left = 0u;
    }
    return status;
}

uint8_t tcuq_slots_spare(const tcuq_slots *slots)
{
    const tcuq_slots_state *state = slots->state;
    if (state->left != 0u) {
        return TCUQ_SLOTS_BUILT_IN;
    }
    return (state->active == 0u) ? 1u : 0u;
}

tcuq_blob_status tcuq_slots_activate(const tcuq_slots *slots, const tcuq_monitor *monitor)
{
    const tcuq_slots_state *state = slots->state;
    const tcuq_profile *profile = slots->loader.room->profile;
    const uint8_t spare = tcuq_slots_spare(slots);
    if (spare == TCUQ_SLOTS_BUILT_IN) {
        return TCUQ_BLOB_ERROR_TRIAL;
    }
    const uint8_t *bytes = slots->slots[spare];
    const uint32_t least = (state->highest < slots->first_number) ? slots->first_number : (state->highest + 1u);
    if (state->highest == UINT32_MAX) {
        return TCUQ_BLOB_ERROR_OLD;
    }
    tcuq_blob_status status = tcuq_blob_load(&slots->loader, bytes, slots->slot_bytes, least);
    if ((status != TCUQ_BLOB_OK) && (profile->format == TCUQ_PROFILE_FORMAT)) {
        return status; /* nothing has changed */
    }
    if (status == TCUQ_BLOB_OK) {
        status = tcuq_blob_selftest(monitor, bytes);
    }
    if (status == TCUQ_BLOB_OK) {
        tcuq_slots_state next = *state;
        next.highest = tcuq_blob_number(bytes);
        next.numbers[spare] = next.highest;
        next.before = state->active;
        next.active = spare;
        next.left = (slots->trial < UINT8_MAX) ? (uint8_t)(slots->trial + 1u) : UINT8_MAX;
        status = tcuq_switch_write(slots, &next) ? TCUQ_BLOB_OK : TCUQ_BLOB_ERROR_FLASH;
    }
    if (status != TCUQ_BLOB_OK) {
        (void)tcuq_slots_run(slots, monitor, state->active);
    }
    return status;
}

tcuq_blob_status tcuq_slots_confirm(const tcuq_slots *slots)
{
    tcuq_slots_state next = *slots->state;
    if (next.left == 0u) {
        return TCUQ_BLOB_OK;
    }
    next.left = 0u;
    return tcuq_switch_write(slots, &next) ? TCUQ_BLOB_OK : TCUQ_BLOB_ERROR_FLASH;
}
