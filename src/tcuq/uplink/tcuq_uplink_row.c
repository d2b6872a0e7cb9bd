/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: the row of waiting records, by boot and sequence, oldest first. */
#include "tcuq_copy.h"
#include "tcuq_uplink_internal.h"

uint8_t *tcuq_slot_at(const tcuq_uplink *uplink, uint32_t slot)
{
    //@ assert tcuq_cells(slot, uplink->record_bytes) == slot * uplink->record_bytes;
    return &uplink->records[slot * uplink->record_bytes];
}

uint32_t tcuq_slot_boot(const uint8_t *slot)
{
    return tcuq_get_32(&slot[18]);
}

uint32_t tcuq_slot_sequence(const uint8_t *slot)
{
    return tcuq_get_32(&slot[22]);
}

void tcuq_row_remove(const tcuq_uplink *uplink, uint32_t from, uint32_t count)
{
    tcuq_uplink_state *state = uplink->state;
    /*@ loop invariant from + count <= slot <= state->count;
        loop invariant uplink->slots == \at(uplink->slots, Pre) && uplink->record_bytes == \at(uplink->record_bytes, Pre);
        loop invariant state->count == \at(uplink->state->count, Pre) && uplink->records == \at(uplink->records, Pre);
        loop assigns slot, \at(uplink->records, Pre)[0 .. \at(TCUQ_ROW_BYTES, Pre) - 1];
        loop variant state->count - slot; */
    for (uint32_t slot = from + count; slot < state->count; slot++) {
        //@ assert tcuq_cells(slot - count, uplink->record_bytes) + uplink->record_bytes <= tcuq_cells(slot, uplink->record_bytes);
        //@ assert tcuq_cells(slot, uplink->record_bytes) + uplink->record_bytes <= TCUQ_ROW_BYTES;
        //@ assert 0 <= tcuq_cells(slot - count, uplink->record_bytes);
        tcuq_copy_bytes(tcuq_slot_at(uplink, slot - count), tcuq_slot_at(uplink, slot),
                        uplink->record_bytes);
    }
    state->count = (uint8_t)(state->count - count);
}

/* A record between two others of its boot says nothing that the later one does not, but which epoch had
 * closed: the oldest such one makes room. The first in the row may have been sent, and stays. */
static void tcuq_row_thin(const tcuq_uplink *uplink)
{
    const tcuq_uplink_state *state = uplink->state;
    //@ assert tcuq_cells(0, uplink->record_bytes) == 0 && uplink->record_bytes <= TCUQ_ROW_BYTES;
    uint32_t before = tcuq_slot_boot(tcuq_slot_at(uplink, 0u));
    /*@ loop invariant 1 <= slot <= state->count;
        loop assigns slot, before;
        loop variant state->count - slot; */
    for (uint32_t slot = 1u; slot < state->count; slot++) {
        //@ assert 0 <= tcuq_cells(slot, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
        //@ assert slot + 1 < state->count ==> tcuq_cells(slot + 1, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
        const uint32_t here = tcuq_slot_boot(tcuq_slot_at(uplink, slot));
        const uint32_t after = ((slot + 1u) < state->count)
                                   ? tcuq_slot_boot(tcuq_slot_at(uplink, slot + 1u))
                                   : state->boot;
        if ((before == here) && (here == after)) {
            tcuq_row_remove(uplink, slot, 1u);
            break;
        }
        before = here;
    }
}

uint32_t tcuq_row_place(const tcuq_uplink *uplink, uint16_t epoch, uint32_t *sequence)
{
    const tcuq_uplink_state *state = uplink->state;
    *sequence = state->sequence;
    if (state->count != 0u) {
        //@ assert 0 <= tcuq_cells(state->count - 1, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
        const uint8_t *last = tcuq_slot_at(uplink, (uint32_t)state->count - 1u);
        const uint32_t newest = tcuq_slot_sequence(last);
        if ((tcuq_slot_boot(last) == state->boot) && (tcuq_get_16(&last[28]) == epoch)) {
            if (newest >= state->sent) { /* never sent: its number is still free */
                *sequence = newest;
                return (uint32_t)state->count - 1u;
            }
            if (newest != 0u) {
                return (uint32_t)state->count - 1u;
            }
        }
        if (state->count >= uplink->slots) {
            tcuq_row_thin(uplink);
        }
    }
    return state->count;
}
