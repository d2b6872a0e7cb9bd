/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: what acknowledgements do. Without a key they may come from anyone, and are believed accordingly. */
#include "tcuq_uplink_internal.h"

/* Removes what the store holds: of this boot through this sequence, and so all of boots before it. */
static void tcuq_uplink_clear(const tcuq_uplink *uplink, uint32_t boot, uint32_t sequence)
{
    tcuq_uplink_state *state = uplink->state;
    uint32_t gone = 0u;
    /*@ loop invariant gone <= state->count;
        loop assigns gone;
        loop variant state->count - gone; */
    while (gone < state->count) {
        //@ assert 0 <= tcuq_cells(gone, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
        const uint8_t *slot = tcuq_slot_at(uplink, gone);
        const bool later = (tcuq_slot_boot(slot) == boot) ? (tcuq_slot_sequence(slot) > sequence)
                                                          : (tcuq_slot_boot(slot) > boot);
        if (later) {
            break;
        }
        gone++;
    }
    if (gone != 0u) {
        tcuq_row_remove(uplink, 0u, gone);
        tcuq_send_now(state);
        if (state->due == TCUQ_DUE_NO_SLOT) {
            state->due = TCUQ_DUE;
        }
    }
}

/* The store holds what this device never sent: it lost its flash. What waits would be taken for old, and the
 * present boot's counters are whole in the monitor: the next record brings them. */
static tcuq_status tcuq_uplink_move_on(const tcuq_uplink *uplink, uint32_t boot)
{
    tcuq_uplink_state *state = uplink->state;
    const uint32_t most = (uplink->mac != NULL) ? UINT32_MAX : TCUQ_UPLINK_MAX_STEP - 1u;
    const uint32_t ahead = boot - state->boot;
    const uint32_t step = (ahead < most) ? ahead : most;
    if ((uplink->mac == NULL) && (state->stepped != 0u)) {
        return TCUQ_NOT_DUE;
    }
    if (step >= (UINT32_MAX - state->boot)) {
        return TCUQ_ERROR_EXHAUSTED;
    }
    state->boot += step + 1u;
    state->sequence = 0u;
    state->sent = 0u;
    state->count = 0u;
    state->stepped = 1u;
    state->due = TCUQ_DUE;
    return TCUQ_NEW_BOOT;
}

tcuq_status tcuq_uplink_stored(tcuq_uplink *uplink, const uint8_t *ack, uint32_t size, uint32_t now_s)
{
    const tcuq_uplink_state *state = uplink->state;
    const bool plain = uplink->mac == NULL;
    if ((ack == NULL) || (size != (plain ? TCUQ_ACK_BYTES : TCUQ_SIGNED_ACK_BYTES))) {
        return TCUQ_ERROR_BUFFER;
    }
    const uint32_t boot = tcuq_get_32(&ack[8]);
    const uint32_t sequence = tcuq_get_32(&ack[12]);
    if ((tcuq_get_32(ack) != (uint32_t)uplink->device) ||
        (tcuq_get_32(&ack[4]) != (uint32_t)(uplink->device >> 32))) {
        return TCUQ_ERROR_FOREIGN;
    }
    if (!plain && !tcuq_ack_is_authentic(ack, uplink->key, uplink->mac, uplink->mac_context)) {
        return TCUQ_ERROR_FORGED;
    }
    tcuq_time_pass(uplink, now_s);
    if ((boot < state->boot) || ((boot == state->boot) && (sequence < state->sent))) {
        tcuq_uplink_clear(uplink, boot, sequence);
        return TCUQ_OK;
    }
    return tcuq_uplink_move_on(uplink, boot);
}
