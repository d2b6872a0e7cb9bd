/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: boots, the records made in them, and when these are sent. */
#include "tcuq_uplink.h"

#include "tcuq_copy.h"
#include "tcuq_uplink_internal.h"

static bool tcuq_uplink_sound(const tcuq_uplink *uplink)
{
    const uint8_t bytes = (uplink->mac != NULL) ? TCUQ_SIGNED_BYTES : TCUQ_RECORD_BYTES;
    return (uplink->state != NULL) && (uplink->records != NULL) && (uplink->send != NULL) &&
           (uplink->slots >= TCUQ_UPLINK_MIN_SLOTS) && (uplink->pages >= TCUQ_UPLINK_MIN_PAGES) &&
           (uplink->record_bytes == bytes) && (uplink->first_s >= 2u) && (uplink->least_steps != 0u) &&
           (uplink->interval_s >= uplink->first_s) && (uplink->interval_s < TCUQ_CLOCK_BACK) &&
           (uplink->resend_s >= 1u) && (uplink->longest_s >= uplink->resend_s);
}

tcuq_status tcuq_uplink_init(tcuq_uplink *uplink)
{
    if ((uplink == NULL) || !tcuq_uplink_sound(uplink)) {
        return TCUQ_ERROR_CONFIG;
    }
    const tcuq_uplink_state fresh = {0};
    *uplink->state = fresh;
    return TCUQ_OK;
}

tcuq_status tcuq_uplink_begin(tcuq_uplink *uplink, tcuq_monitor *monitor, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    if ((monitor == NULL) || (monitor->telemetry == NULL)) {
        return TCUQ_ERROR_RECORD;
    }
    if (state->sequence != 0u) { /* else its id was never used */
        if (state->boot == UINT32_MAX) {
            return TCUQ_ERROR_EXHAUSTED;
        }
        state->boot++;
        state->sequence = 0u;
    }
    state->sent = 0u;
    if (state->phase == TCUQ_RUNNING) { /* the monitor was reset: the interval goes on */
        tcuq_time_pass(uplink, now_s);
        state->turn_steps -= monitor->telemetry->steps; /* and so does the count of steps in it */
    } else {
        tcuq_time_begin(uplink, now_s);
        state->turn_steps = 0u;
    }
    /* An odd number is not 0, from which xorshift would never get away. */
    state->random = (tcuq_place_s(uplink, UINT32_MAX) ^ (state->boot * 0x9E3779B1u)) | 1u;
    tcuq_telemetry_reset(monitor);
    return TCUQ_OK;
}

/* Makes a record into a slot. */
static tcuq_status tcuq_uplink_make(const tcuq_uplink *uplink, const tcuq_monitor *monitor,
                                    const tcuq_identity *identity)
{
    tcuq_uplink_state *state = uplink->state;
    uint8_t record[TCUQ_SIGNED_BYTES];
    uint32_t sequence;
    //@ assert \valid(TCUQ_SLOTS);
    //@ assert tcuq_core_given(monitor) && tcuq_channels_given(monitor) && tcuq_telemetry_given(monitor);
    //@ assert tcuq_past_given(monitor);
    //@ assert tcuq_given(monitor);
    //@ assert \separated(&record[0 .. TCUQ_SIGNED_BYTES - 1], uplink) && \separated(&record[0 .. TCUQ_SIGNED_BYTES - 1], state);
    //@ assert \separated(&record[0 .. TCUQ_SIGNED_BYTES - 1], uplink->records + (0 .. TCUQ_ROW_BYTES - 1));
    const uint32_t slot = tcuq_row_place(uplink, monitor->core->epoch, &sequence);
    //@ assert TCUQ_UPLINK_KEPT && slot <= state->count <= uplink->slots;
    //@ assert tcuq_sizes_kept{Pre, Here}(monitor->profile);
    //@ assert tcuq_given(monitor);
    //@ assert tcuq_limits_ok(monitor->profile);
    //@ assert tcuq_alarm_ok(monitor);
    if (slot >= uplink->slots) {
        state->due = TCUQ_DUE_NO_SLOT;
        return TCUQ_ERROR_FULL;
    }
    if (sequence == UINT32_MAX) {
        return TCUQ_ERROR_EXHAUSTED;
    }
    tcuq_identity who = *identity;
    who.device = uplink->device;
    who.boot = state->boot;
    who.sequence = sequence;
    //@ assert tcuq_given(monitor);
    //@ assert tcuq_limits_ok(monitor->profile);
    /* Neither call can fail: what they refuse was checked. */
    tcuq_status status = tcuq_record(monitor, &who, record, TCUQ_RECORD_BYTES);
    //@ assert TCUQ_UPLINK_KEPT && slot <= state->count <= uplink->slots;
    if (uplink->mac != NULL) {
        status = tcuq_sign_record(record, uplink->key, uplink->mac, uplink->mac_context, record, TCUQ_SIGNED_BYTES);
    }
    //@ assert TCUQ_UPLINK_KEPT && slot <= state->count <= uplink->slots;
    //@ assert 0 <= tcuq_cells(slot, uplink->record_bytes) <= TCUQ_ROW_BYTES - uplink->record_bytes;
    tcuq_copy_bytes(tcuq_slot_at(uplink, slot), record, uplink->record_bytes);
    //@ assert TCUQ_UPLINK_KEPT && slot <= state->count <= uplink->slots;
    if (state->count == 0u) {
        tcuq_send_now(state);
    }
    //@ assert state->count <= uplink->slots && slot < uplink->slots && state->tries <= 16;
    state->count = (uint8_t)((slot == state->count) ? slot + 1u : state->count);
    //@ assert 1 <= state->count <= uplink->slots && state->tries <= 16;
    state->sequence = sequence + 1u;
    state->unsaved = TCUQ_UNSAVED;
    state->due = TCUQ_LATER;
    return status;
}

tcuq_status tcuq_uplink_record(tcuq_uplink *uplink, const tcuq_monitor *monitor, const tcuq_identity *identity,
                               uint32_t now_s)
{
    const tcuq_uplink_state *state = uplink->state;
    if ((monitor == NULL) || (identity == NULL) || (monitor->telemetry == NULL)) {
        return TCUQ_ERROR_RECORD;
    }
    if (state->phase != TCUQ_RUNNING) {
        return TCUQ_ERROR_CONFIG;
    }
    tcuq_time_pass(uplink, now_s);
    tcuq_time_turn(uplink, monitor->telemetry->steps);
    return (state->due == TCUQ_LATER) ? TCUQ_NOT_DUE
                                               : tcuq_uplink_make(uplink, monitor, identity);
}

tcuq_status tcuq_uplink_run(tcuq_uplink *uplink, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    tcuq_time_pass(uplink, now_s);
    if (state->unsaved != TCUQ_SAVED) {
        return TCUQ_ERROR_UNSAVED;
    }
    if ((state->count == 0u) || (state->wait_s != 0u)) {
        return TCUQ_NOT_DUE;
    }
    const uint8_t *first = tcuq_slot_at(uplink, 0u);
    if ((tcuq_slot_boot(first) == state->boot) && (tcuq_slot_sequence(first) >= state->sent)) {
        state->sent = tcuq_slot_sequence(first) + 1u;
    }
    tcuq_back_off(uplink);
    //@ calls tcuq_any_send;
    (void)uplink->send(uplink->send_context, first, uplink->record_bytes);
    return TCUQ_OK;
}
