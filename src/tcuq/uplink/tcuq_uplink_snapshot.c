/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot of an uplink: its boot, its sequence and the records that wait, as bytes for a page of flash.
 *
 * Little-endian: "TCUL", size, number of the snapshot, device, boot, sequence, clock, record bytes, waiting
 * records, all slots, CRC-32 of all before it. Pages are written in turn, and the turn passes on only when a
 * snapshot is said to be written: the newest whole one is never overwritten. */
#include "tcuq_copy.h"
#include "tcuq_uplink_internal.h"

#define TCUQ_UPLINK_MAGIC 0x4C554354u /* "TCUL" */

uint32_t tcuq_uplink_size(const tcuq_uplink *uplink)
{
    return TCUQ_UPLINK_BYTES(uplink->slots, uplink->record_bytes);
}

void tcuq_uplink_encode(const tcuq_uplink *uplink, uint8_t *buffer)
{
    const tcuq_uplink_state *state = uplink->state;
    const uint32_t whole = tcuq_uplink_size(uplink);
    //@ assert 0 <= tcuq_cells(state->count, uplink->record_bytes) <= TCUQ_ROW_BYTES;
    //@ assert tcuq_cells(state->count, uplink->record_bytes) == state->count * uplink->record_bytes;
    const uint32_t held = (uint32_t)state->count * uplink->record_bytes;
    tcuq_put_32(buffer, TCUQ_UPLINK_MAGIC);
    tcuq_put_32(&buffer[4], whole);
    tcuq_put_32(&buffer[8], state->saves + 1u);
    tcuq_put_32(&buffer[12], (uint32_t)uplink->device);
    tcuq_put_32(&buffer[16], (uint32_t)(uplink->device >> 32));
    tcuq_put_32(&buffer[20], state->boot);
    tcuq_put_32(&buffer[24], state->sequence);
    tcuq_put_32(&buffer[28], state->clock_s);
    buffer[32] = uplink->record_bytes;
    buffer[33] = state->count;
    tcuq_copy_bytes(&buffer[TCUQ_UPLINK_HEAD_BYTES], uplink->records, held);
    /*@ loop invariant TCUQ_UPLINK_HEAD_BYTES + held <= i <= whole - 4;
        loop assigns i, buffer[0 .. whole - 1];
        loop variant whole - i; */
    for (uint32_t i = TCUQ_UPLINK_HEAD_BYTES + held; i < (whole - 4u); i++) {
        buffer[i] = 0u;
    }
    tcuq_put_32(&buffer[whole - 4u], tcuq_crc32(buffer, whole - 4u));
}

uint8_t tcuq_uplink_page(const tcuq_uplink *uplink)
{
    const uint32_t next = (uint32_t)uplink->state->page + 1u;
    return (next >= uplink->pages) ? 0u : (uint8_t)next;
}

tcuq_status tcuq_uplink_snapshot(tcuq_uplink *uplink, uint8_t *buffer, uint32_t size)
{
    tcuq_uplink_state *state = uplink->state;
    if ((buffer == NULL) || (size < tcuq_uplink_size(uplink))) {
        return TCUQ_ERROR_BUFFER;
    }
    if ((state->unsaved == TCUQ_SAVED) || (state->writes == 0u)) {
        return TCUQ_NOT_DUE;
    }
    state->writes--;
    state->unsaved = TCUQ_TAKEN;
    tcuq_uplink_encode(uplink, buffer);
    return TCUQ_OK;
}

tcuq_status tcuq_uplink_saved(tcuq_uplink *uplink)
{
    tcuq_uplink_state *state = uplink->state;
    if (state->unsaved != TCUQ_TAKEN) {
        return TCUQ_ERROR_UNSAVED;
    }
    state->unsaved = TCUQ_SAVED;
    state->page = tcuq_uplink_page(uplink);
    state->saves++;
    return TCUQ_OK;
}

/* Whether the records of a snapshot can stand in the row of this device: its own, in order, none of a boot or
 * sequence beyond the snapshot's, and nothing behind them. */
static bool tcuq_row_consistent(const tcuq_uplink *uplink, const uint8_t *bytes)
{
    const uint8_t version = (uplink->mac != NULL) ? 4u : 3u;
    const uint32_t end = tcuq_uplink_size(uplink) - 4u;
    const uint8_t *last = NULL;
    uint32_t at = TCUQ_UPLINK_HEAD_BYTES;
    /*@ loop invariant i <= bytes[33] && at == TCUQ_UPLINK_HEAD_BYTES + tcuq_cells(i, uplink->record_bytes);
        loop invariant last == \null || \valid_read(last + (0 .. TCUQ_RECORD_BYTES - 1));
        loop assigns i, at, last;
        loop variant bytes[33] - i; */
    for (uint32_t i = 0u; i < bytes[33]; i++) {
        //@ assert 0 <= tcuq_cells(i, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
        //@ assert tcuq_cells(i + 1, uplink->record_bytes) == tcuq_cells(i, uplink->record_bytes) + uplink->record_bytes;
        const uint8_t *slot = &bytes[at];
        const uint32_t boot = tcuq_slot_boot(slot);
        const uint32_t sequence = tcuq_slot_sequence(slot);
        const bool own = (slot[0] == version) && (tcuq_get_32(&slot[2]) == (uint32_t)uplink->device) &&
                         (tcuq_get_32(&slot[6]) == (uint32_t)(uplink->device >> 32));
        const bool known = (boot < tcuq_get_32(&bytes[20])) ||
                           ((boot == tcuq_get_32(&bytes[20])) && (sequence < tcuq_get_32(&bytes[24])));
        const bool later = (last == NULL) || (boot > tcuq_slot_boot(last)) ||
                           ((boot == tcuq_slot_boot(last)) && (sequence > tcuq_slot_sequence(last)));
        if (!own || !known || !later) {
            return false;
        }
        last = slot;
        at += uplink->record_bytes;
    }
    uint32_t rest = 0u;
    //@ assert at <= end;
    /*@ loop invariant at <= i <= end;
        loop assigns i, rest;
        loop variant end - i; */
    for (uint32_t i = at; i < end; i++) {
        rest |= bytes[i];
    }
    return rest == 0u;
}

static tcuq_status tcuq_snapshot_sound(const tcuq_uplink *uplink, const uint8_t *bytes, uint32_t size)
{
    const uint32_t whole = tcuq_uplink_size(uplink);
    if ((bytes == NULL) || (size < whole) || (tcuq_get_32(bytes) != TCUQ_UPLINK_MAGIC)) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    if (tcuq_get_32(&bytes[4]) != whole) {
        return TCUQ_ERROR_FOREIGN;
    }
    if (tcuq_get_32(&bytes[whole - 4u]) != tcuq_crc32(bytes, whole - 4u)) {
        return TCUQ_ERROR_SNAPSHOT;
    }
    if ((tcuq_get_32(&bytes[12]) != (uint32_t)uplink->device) ||
        (tcuq_get_32(&bytes[16]) != (uint32_t)(uplink->device >> 32)) ||
        (bytes[32] != uplink->record_bytes)) {
        return TCUQ_ERROR_FOREIGN;
    }
    return ((bytes[33] <= uplink->slots) && tcuq_row_consistent(uplink, bytes))
               ? TCUQ_OK
               : TCUQ_ERROR_INCONSISTENT;
}

tcuq_status tcuq_uplink_restore(tcuq_uplink *uplink, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    tcuq_uplink_state *state = uplink->state;
    if ((page >= uplink->pages) || (state->phase == TCUQ_RUNNING)) {
        return TCUQ_ERROR_CONFIG;
    }
    const tcuq_status status = tcuq_snapshot_sound(uplink, bytes, size);
    if (status != TCUQ_OK) {
        return status;
    }
    const uint32_t later = tcuq_get_32(&bytes[8]) - state->saves; /* the number may have wrapped */
    if ((state->phase == TCUQ_RESTORED) && ((later == 0u) || (later >= 0x80000000u))) {
        return TCUQ_OLDER;
    }
    state->saves = tcuq_get_32(&bytes[8]);
    state->boot = tcuq_get_32(&bytes[20]);
    state->sequence = tcuq_get_32(&bytes[24]);
    state->sent = state->sequence; /* all of them may have been */
    state->clock_s = tcuq_get_32(&bytes[28]);
    state->page = page;
    state->count = bytes[33];
    state->phase = TCUQ_RESTORED;
    //@ assert 0 <= tcuq_cells(state->count, uplink->record_bytes) <= TCUQ_ROW_BYTES;
    tcuq_copy_bytes(uplink->records, &bytes[TCUQ_UPLINK_HEAD_BYTES],
                    (uint32_t)state->count * uplink->record_bytes);
    return TCUQ_OK;
}
