/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshot of an uplink: its boot, its sequence and the records that wait, as bytes for flash.
 *
 * Little-endian: "TCUL", size, saves, device, boot, sequence, record bytes, waiting records, all slots,
 * CRC-32 of all before it. Two copies written in turn survive a power cut in the middle of a write. */
#include "tcuq_bytes.h"
#include "tcuq_copy.h"
#include "tcuq_internal.h"
#include "tcuq_uplink.h"

#define TCUQ_UPLINK_MAGIC 0x4C554354u /* "TCUL" */

uint32_t tcuq_uplink_size(const tcuq_uplink *uplink)
{
    return TCUQ_UPLINK_BYTES(uplink->slots, uplink->record_bytes);
}

tcuq_uplink_status tcuq_uplink_snapshot(const tcuq_uplink *uplink, uint8_t *buffer, uint32_t size)
{
    tcuq_uplink_state *state = uplink->state;
    const uint32_t whole = tcuq_uplink_size(uplink);
    const uint32_t held = (uint32_t)state->count * uplink->record_bytes;
    if ((buffer == NULL) || (size < whole)) {
        return TCUQ_UPLINK_ERROR_BUFFER;
    }
    state->saves++;
    tcuq_put_32(buffer, TCUQ_UPLINK_MAGIC);
    tcuq_put_32(&buffer[4], whole);
    tcuq_put_32(&buffer[8], state->saves);
    tcuq_put_32(&buffer[12], (uint32_t)uplink->device);
    tcuq_put_32(&buffer[16], (uint32_t)(uplink->device >> 32));
    tcuq_put_32(&buffer[20], state->boot);
    tcuq_put_32(&buffer[24], state->sequence);
    buffer[28] = uplink->record_bytes;
    buffer[29] = state->count;
    tcuq_copy_bytes(&buffer[TCUQ_UPLINK_HEAD_BYTES], uplink->records, held);
    for (uint32_t i = TCUQ_UPLINK_HEAD_BYTES + held; i < (whole - 4u); i++) {
        buffer[i] = 0u;
    }
    tcuq_put_32(&buffer[whole - 4u], tcuq_crc32(buffer, whole - 4u));
    return TCUQ_UPLINK_OK;
}

static tcuq_uplink_status tcuq_snapshot_sound(const tcuq_uplink *uplink, const uint8_t *buffer,
                                              uint32_t size)
{
    const uint32_t whole = tcuq_uplink_size(uplink);
    if ((buffer == NULL) || (size < whole) || (tcuq_get_32(buffer) != TCUQ_UPLINK_MAGIC)) {
        return TCUQ_UPLINK_ERROR_SNAPSHOT;
    }
    if (tcuq_get_32(&buffer[4]) != whole) {
        return TCUQ_UPLINK_ERROR_FOREIGN;
    }
    if (tcuq_get_32(&buffer[whole - 4u]) != tcuq_crc32(buffer, whole - 4u)) {
        return TCUQ_UPLINK_ERROR_SNAPSHOT;
    }
    const bool own = (tcuq_get_32(&buffer[12]) == (uint32_t)uplink->device) &&
                     (tcuq_get_32(&buffer[16]) == (uint32_t)(uplink->device >> 32)) &&
                     (buffer[28] == uplink->record_bytes) && (buffer[29] <= uplink->slots);
    return own ? TCUQ_UPLINK_OK : TCUQ_UPLINK_ERROR_FOREIGN;
}

tcuq_uplink_status tcuq_uplink_restore(const tcuq_uplink *uplink, const uint8_t *first,
                                       const uint8_t *second, uint32_t size)
{
    const tcuq_uplink_status one = tcuq_snapshot_sound(uplink, first, size);
    const tcuq_uplink_status two = tcuq_snapshot_sound(uplink, second, size);
    const uint8_t *newer = (one == TCUQ_UPLINK_OK) ? first : second;
    if ((one != TCUQ_UPLINK_OK) && (two != TCUQ_UPLINK_OK)) {
        return ((one == TCUQ_UPLINK_ERROR_FOREIGN) || (two == TCUQ_UPLINK_ERROR_FOREIGN))
                   ? TCUQ_UPLINK_ERROR_FOREIGN
                   : TCUQ_UPLINK_ERROR_SNAPSHOT;
    }
    if ((one == TCUQ_UPLINK_OK) && (two == TCUQ_UPLINK_OK) &&
        ((tcuq_get_32(&second[8]) - tcuq_get_32(&first[8])) < 0x80000000u)) {
        newer = second; /* as many saves later, though the count may have wrapped */
    }
    tcuq_uplink_state *state = uplink->state;
    state->saves = tcuq_get_32(&newer[8]);
    state->boot = tcuq_get_32(&newer[20]);
    state->sequence = tcuq_get_32(&newer[24]);
    state->sent = state->sequence; /* all of them may have been */
    state->count = newer[29];
    state->unsaved = 0u;
    tcuq_copy_bytes(uplink->records, &newer[TCUQ_UPLINK_HEAD_BYTES],
                    (uint32_t)state->count * uplink->record_bytes);
    return TCUQ_UPLINK_OK;
}
