/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: the row of waiting records, when they are sent, and what acknowledgements do to them. */
#include "tcuq_uplink.h"

#include "tcuq_bytes.h"
#include "tcuq_copy.h"
#include "tcuq_internal.h"

static uint8_t *tcuq_slot_at(const tcuq_uplink *uplink, uint32_t slot)
{
    return &uplink->records[slot * uplink->record_bytes];
}

static uint32_t tcuq_slot_boot(const uint8_t *slot)
{
    return tcuq_get_32(&slot[18]);
}

static uint32_t tcuq_slot_sequence(const uint8_t *slot)
{
    return tcuq_get_32(&slot[22]);
}

/* A device's number, mixed: neighbours in the numbering are strangers in time. */
static uint32_t tcuq_device_hash(uint64_t device)
{
    uint32_t mixed = (uint32_t)device ^ ((uint32_t)(device >> 32) * 0x9E3779B1u);
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6Bu;
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35u;
    return mixed ^ (mixed >> 16);
}

static bool tcuq_uplink_sound(const tcuq_uplink *uplink)
{
    const uint8_t bytes = (uplink->mac != NULL) ? TCUQ_SIGNED_BYTES : TCUQ_RECORD_BYTES;
    return (uplink->state != NULL) && (uplink->records != NULL) && (uplink->send != NULL) &&
           (uplink->slots >= TCUQ_UPLINK_MIN_SLOTS) && (uplink->record_bytes == bytes) &&
           (uplink->interval_s >= 1u) && (uplink->resend_s >= 1u) &&
           (uplink->longest_s >= uplink->resend_s);
}

tcuq_uplink_status tcuq_uplink_init(const tcuq_uplink *uplink)
{
    if ((uplink == NULL) || !tcuq_uplink_sound(uplink)) {
        return TCUQ_UPLINK_ERROR_CONFIG;
    }
    const tcuq_uplink_state fresh = {0};
    *uplink->state = fresh;
    return TCUQ_UPLINK_OK;
}

/* The first record is due in so many seconds, as if it had never been sent. */
static void tcuq_due_in(tcuq_uplink_state *state, uint32_t now_s, uint32_t wait_s)
{
    state->since_s = now_s;
    state->wait_s = wait_s;
    state->tries = 0u;
}

tcuq_uplink_status tcuq_uplink_begin(const tcuq_uplink *uplink, const tcuq_monitor *monitor, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    if ((monitor == NULL) || (monitor->telemetry == NULL)) {
        return TCUQ_UPLINK_ERROR_RECORD;
    }
    if (state->sequence != 0u) { /* else its id was never used */
        if (state->boot == UINT32_MAX) {
            return TCUQ_UPLINK_ERROR_EXHAUSTED;
        }
        state->boot++;
        state->sequence = 0u;
    }
    state->sent = 0u;
    /* An odd number is not 0, from which xorshift would never get away. */
    state->random = (tcuq_device_hash(uplink->device) ^ (state->boot * 0x9E3779B1u)) | 1u;
    tcuq_due_in(state, now_s, tcuq_uplink_send_time_s(uplink, now_s));
    tcuq_telemetry_reset(monitor);
    return TCUQ_UPLINK_OK;
}

uint32_t tcuq_uplink_send_time_s(const tcuq_uplink *uplink, uint32_t now_s)
{
    const uint32_t send_time_s = tcuq_device_hash(uplink->device) % uplink->interval_s;
    const uint32_t phase = now_s % uplink->interval_s;
    return (send_time_s >= phase) ? send_time_s - phase : uplink->interval_s - phase + send_time_s;
}

/* Where the present boot's newest record goes, and under which sequence: over the last one, which then
 * nobody needs any more, or behind it. The slots' number if there is no room. */
static uint32_t tcuq_slot_for_newest(const tcuq_uplink *uplink, uint32_t *sequence)
{
    const tcuq_uplink_state *state = uplink->state;
    *sequence = state->sequence;
    if (state->count != 0u) {
        const uint8_t *last = tcuq_slot_at(uplink, (uint32_t)state->count - 1u);
        const uint32_t newest = tcuq_slot_sequence(last);
        if (tcuq_slot_boot(last) == state->boot) {
            if (newest >= state->sent) { /* never sent: its number is still free */
                *sequence = newest;
                return (uint32_t)state->count - 1u;
            }
            if (newest != 0u) {
                return (uint32_t)state->count - 1u;
            }
        }
    }
    return state->count;
}

tcuq_uplink_status tcuq_uplink_record(const tcuq_uplink *uplink, const tcuq_monitor *monitor,
                                      const tcuq_identity *identity, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    uint8_t record[TCUQ_SIGNED_BYTES];
    uint32_t sequence;
    if ((monitor == NULL) || (identity == NULL)) {
        return TCUQ_UPLINK_ERROR_RECORD;
    }
    const uint32_t slot = tcuq_slot_for_newest(uplink, &sequence);
    if (slot >= uplink->slots) {
        return TCUQ_UPLINK_ERROR_FULL;
    }
    if (sequence == UINT32_MAX) {
        return TCUQ_UPLINK_ERROR_EXHAUSTED;
    }
    tcuq_identity who = *identity;
    who.device = uplink->device;
    who.boot = state->boot;
    who.sequence = sequence;
    if (tcuq_record(monitor, &who, record, TCUQ_RECORD_BYTES) != TCUQ_OK) {
        return TCUQ_UPLINK_ERROR_RECORD;
    }
    if (uplink->mac != NULL) {
        (void)tcuq_sign_record(record, uplink->key, uplink->mac, uplink->mac_context, record,
                               TCUQ_SIGNED_BYTES);
    }
    tcuq_copy_bytes(tcuq_slot_at(uplink, slot), record, uplink->record_bytes);
    if (state->count == 0u) {
        tcuq_due_in(state, now_s, 0u);
    }
    state->count = (uint8_t)((slot == state->count) ? slot + 1u : state->count);
    state->sequence = sequence + 1u;
    state->unsaved = 1u;
    return TCUQ_UPLINK_OK;
}

void tcuq_uplink_saved(const tcuq_uplink *uplink)
{
    uplink->state->unsaved = 0u;
}

/* Waits between half and one and a half times resend_s, twice as long at each try. Products fit: each
 * factor is below 2^16. */
static void tcuq_back_off(const tcuq_uplink *uplink, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    uint32_t base_s = (uint32_t)uplink->resend_s << state->tries;
    if (base_s < uplink->longest_s) {
        state->tries++; /* at most 16: then base_s is beyond longest_s */
    } else {
        base_s = uplink->longest_s;
    }
    state->random ^= state->random << 13;
    state->random ^= state->random >> 17;
    state->random ^= state->random << 5;
    const uint32_t wait_s = (base_s >> 1) + ((base_s * (state->random >> 16)) >> 16);
    state->since_s = now_s;
    state->wait_s = (wait_s == 0u) ? 1u : wait_s;
}

uint32_t tcuq_uplink_wait_s(const tcuq_uplink *uplink, uint32_t now_s)
{
    const tcuq_uplink_state *state = uplink->state;
    const uint32_t waited_s = now_s - state->since_s; /* a clock set back has waited long */
    if (state->count == 0u) {
        return TCUQ_UPLINK_IDLE;
    }
    return (waited_s >= state->wait_s) ? 0u : state->wait_s - waited_s;
}

tcuq_uplink_status tcuq_uplink_run(const tcuq_uplink *uplink, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    if (state->unsaved != 0u) {
        return TCUQ_UPLINK_ERROR_UNSAVED;
    }
    if (tcuq_uplink_wait_s(uplink, now_s) != 0u) {
        return TCUQ_UPLINK_OK;
    }
    const uint8_t *first = tcuq_slot_at(uplink, 0u);
    if ((tcuq_slot_boot(first) == state->boot) && (tcuq_slot_sequence(first) >= state->sent)) {
        state->sent = tcuq_slot_sequence(first) + 1u;
    }
    tcuq_back_off(uplink, now_s);
    (void)uplink->send(uplink->send_context, first, uplink->record_bytes);
    return TCUQ_UPLINK_OK;
}

/* Takes away what the store holds: of this boot through this sequence, and so all of boots before it. */
static void tcuq_uplink_clear(const tcuq_uplink *uplink, uint32_t boot, uint32_t sequence, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    uint32_t gone = 0u;
    while (gone < state->count) {
        const uint8_t *slot = tcuq_slot_at(uplink, gone);
        const bool later = (tcuq_slot_boot(slot) == boot) ? (tcuq_slot_sequence(slot) > sequence)
                                                          : (tcuq_slot_boot(slot) > boot);
        if (later) {
            break;
        }
        gone++;
    }
    if (gone != 0u) {
        for (uint32_t slot = gone; slot < state->count; slot++) {
            tcuq_copy_bytes(tcuq_slot_at(uplink, slot - gone), tcuq_slot_at(uplink, slot),
                            uplink->record_bytes);
        }
        state->count = (uint8_t)(state->count - gone);
        tcuq_due_in(state, now_s, 0u);
    }
}

tcuq_uplink_status tcuq_uplink_stored(const tcuq_uplink *uplink, const uint8_t *ack, uint32_t size,
                                      uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    if ((ack == NULL) || (size != TCUQ_ACK_BYTES)) {
        return TCUQ_UPLINK_ERROR_BUFFER;
    }
    const uint32_t boot = tcuq_get_32(&ack[8]);
    const uint32_t sequence = tcuq_get_32(&ack[12]);
    if ((tcuq_get_32(ack) != (uint32_t)uplink->device) ||
        (tcuq_get_32(&ack[4]) != (uint32_t)(uplink->device >> 32))) {
        return TCUQ_UPLINK_ERROR_FOREIGN;
    }
    if ((boot < state->boot) || ((boot == state->boot) && (sequence < state->sent))) {
        tcuq_uplink_clear(uplink, boot, sequence, now_s);
        return TCUQ_UPLINK_OK;
    }
    /* Never sent by this life of the device. What waits would be taken for old, and the present boot's
     * counters are whole in the monitor: the next record brings them. */
    if (boot == UINT32_MAX) {
        return TCUQ_UPLINK_ERROR_EXHAUSTED;
    }
    state->boot = boot + 1u;
    state->sequence = 0u;
    state->sent = 0u;
    state->count = 0u;
    state->unsaved = 1u;
    return TCUQ_UPLINK_NEW_BOOT;
}
