/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: copies of it and of its monitor in pages of flash, read after a restart and written when one is due.
 *
 * In a page first the uplink, whose size no profile changes, then the monitor: a firmware with another profile
 * refuses the monitor's copy and still restores the uplink. */
#include "tcuq_uplink_internal.h"

#ifdef __FRAMAC__
#include "tcuq_acsl_keep.h"
#endif

/* Reads one page; returns whether the monitor is restored from a page that was the newest when it was read. As long
 * as it is not, older pages give one: they are written in turn, so that the last one read is the newest of them. */
static bool tcuq_keeper_read(const tcuq_keeper *keeper, uint8_t page, bool restored)
{
    tcuq_uplink *uplink = keeper->uplink;
    tcuq_monitor *monitor = keeper->monitor;
    uint8_t *buffer = keeper->buffer;
    //@ calls tcuq_any_read_copy;
    if (!keeper->read(keeper->context, page, buffer, keeper->size)) {
        return restored;
    }
    //@ assert tcuq_keeper_uplink(keeper) && tcuq_keeper_calls(keeper);
    //@ assert tcuq_keeper_apart(keeper) && tcuq_keeper_tables(keeper);
    //@ assert tcuq_given(monitor);
    //@ assert tcuq_limits_ok(monitor->profile);
    //@ assert tcuq_state_ok(monitor);
    //@ assert tcuq_keeper_terms(keeper);
    const tcuq_status status = tcuq_uplink_restore(uplink, page, buffer, keeper->size);
    //@ assert tcuq_keeper_uplink(keeper) && tcuq_keeper_calls(keeper);
    //@ assert tcuq_keeper_apart(keeper) && tcuq_keeper_tables(keeper);
    //@ assert tcuq_given(monitor);
    //@ assert tcuq_limits_ok(monitor->profile);
    //@ assert tcuq_state_ok(monitor);
    //@ assert tcuq_keeper_terms(keeper);
    if ((status == TCUQ_OK) || ((status == TCUQ_OLDER) && !restored)) {
        const uint8_t *copy = &buffer[tcuq_uplink_size(uplink)];
        const bool whole = tcuq_restore(monitor, copy, tcuq_snapshot_size(monitor)) == TCUQ_OK;
        if (whole && (status == TCUQ_OK)) {
            return true;
        }
    }
    return restored;
}

tcuq_status tcuq_keeper_begin(const tcuq_keeper *keeper, uint32_t now_s)
{
    if ((keeper == NULL) || (keeper->uplink == NULL) || (keeper->monitor == NULL) || (keeper->read == NULL) ||
        (keeper->write == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    tcuq_uplink *uplink = keeper->uplink;
    tcuq_monitor *monitor = keeper->monitor;
    if ((keeper->buffer == NULL) || (keeper->size < (tcuq_uplink_size(uplink) + tcuq_snapshot_size(monitor)))) {
        return TCUQ_ERROR_BUFFER;
    }
    const tcuq_status status = tcuq_uplink_init(uplink);
    if (status != TCUQ_OK) {
        return status;
    }
    bool restored = false;
    /*@ loop invariant page <= uplink->pages && uplink->state->count <= uplink->slots;
        loop invariant uplink->state->tries == 0 && uplink->state->writes == 0;
        loop invariant tcuq_uplink_rules(uplink);
        loop invariant tcuq_keeper_uplink(keeper);
        loop invariant tcuq_keeper_apart(keeper);
        loop invariant tcuq_keeper_tables(keeper);
        loop invariant tcuq_keeper_calls(keeper);
        loop invariant tcuq_given(monitor);
        loop invariant tcuq_limits_ok(monitor->profile);
        loop invariant tcuq_state_ok(monitor);
        loop invariant tcuq_keeper_terms(keeper);
        loop invariant tcuq_keeper_room(keeper);
        loop assigns page, restored, *uplink->state, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE;
        loop variant uplink->pages - page; */
    for (uint32_t page = 0u; page < uplink->pages; page++) {
        restored = tcuq_keeper_read(keeper, (uint8_t)page, restored);
    }
    return tcuq_uplink_begin(uplink, monitor, now_s);
}

/* Writes both copies, if the uplink has something to save. */
static tcuq_status tcuq_keeper_write(const tcuq_keeper *keeper)
{
    tcuq_uplink *uplink = keeper->uplink;
    uint8_t *buffer = keeper->buffer;
    const uint32_t head = tcuq_uplink_size(uplink);
    //@ assert head <= keeper->size;
    //@ assert TCUQ_ROW_APART(buffer + (0 .. head - 1));
    tcuq_status status = tcuq_uplink_snapshot(uplink, buffer, head);
    //@ assert tcuq_given(keeper->monitor);
    //@ assert tcuq_limits_ok(keeper->monitor->profile);
    if (status == TCUQ_OK) {
        status = tcuq_snapshot(keeper->monitor, &buffer[head], keeper->size - head);
    }
    if (status != TCUQ_OK) {
        return status;
    }
    //@ calls tcuq_any_write_copy;
    return keeper->write(keeper->context, tcuq_uplink_page(uplink), buffer, keeper->size)
               ? tcuq_uplink_saved(uplink)
               : TCUQ_ERROR_UNSAVED;
}

tcuq_status tcuq_keeper_save(const tcuq_keeper *keeper, uint32_t now_s)
{
    const tcuq_status recorded = tcuq_uplink_record(keeper->uplink, keeper->monitor, &keeper->identity, now_s);
    //@ assert tcuq_keeper_uplink(keeper) && tcuq_keeper_calls(keeper);
    //@ assert tcuq_keeper_apart(keeper) && tcuq_keeper_tables(keeper);
    //@ assert tcuq_given(keeper->monitor);
    //@ assert tcuq_limits_ok(keeper->monitor->profile);
    //@ assert tcuq_state_ok(keeper->monitor);
    //@ assert tcuq_keeper_terms(keeper);
    const tcuq_status written = tcuq_keeper_write(keeper); /* also what was recorded before */
    return (recorded < TCUQ_OK) ? recorded : written;
}
