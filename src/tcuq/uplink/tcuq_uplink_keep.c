/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: copies of it and of its monitor in pages of flash, read after a restart and written when one is due.
 *
 * In a page first the uplink, whose size no profile changes, then the monitor: a firmware with another profile
 * refuses the monitor's copy and still restores the uplink. */
#include "tcuq_uplink_internal.h"

#ifdef __FRAMAC__
#include "tcuq_acsl_keep.h"
#endif

/* From what was read into the buffer, if it is a copy of this uplink that is newer than the last. */
static tcuq_status tcuq_keeper_take_uplink(const tcuq_keeper *keeper, uint8_t page)
{
    tcuq_uplink *uplink = keeper->uplink;
    const tcuq_status status = tcuq_uplink_restore(uplink, page, keeper->buffer, keeper->size);
    //@ assert tcuq_keeper_kept{Pre, Here}(keeper);
    return status;
}

/* Whether the copy in the buffer had the monitor, of this profile and whole. */
static bool tcuq_keeper_take_monitor(const tcuq_keeper *keeper)
{
    tcuq_monitor *monitor = keeper->monitor;
    const uint8_t *copy = &keeper->buffer[tcuq_uplink_size(keeper->uplink)];
    const tcuq_status status = tcuq_restore(monitor, copy, tcuq_snapshot_size(monitor));
    //@ assert tcuq_keeper_kept{Pre, Here}(keeper);
    //@ assert tcuq_decisions_ok(monitor->profile);
    /*@ assert \forall integer i; 0 <= i < monitor->profile->channel_count ==>
          \separated(monitor->profile->channels + i, monitor->core) &&
          \separated(monitor->profile->channels + i, TCUQ_SLOTS) &&
          \separated(monitor->profile->channels + i, TCUQ_CHANNEL_STATES) &&
          \separated(monitor->profile->channels + i, TCUQ_COUNTERS); */
    /*@ assert \forall integer i; 0 <= i < monitor->profile->channel_count ==>
          tcuq_counts_ok(&monitor->profile->channels[i].counts[0], TCUQ_COUNTS); */
    /*@ assert \forall integer i; 0 <= i < monitor->profile->channel_count ==>
          TCUQ_MIN_BLOCK <= monitor->profile->channels[i].block <= TCUQ_MAX_BLOCK &&
          1 <= monitor->profile->channels[i].boot_limit_q8 <= 32767 &&
          monitor->profile->channels[i].signal <= TCUQ_HEALTH &&
          -0x40000000 <= monitor->profile->channels[i].centre <= 0x40000000; */
    //@ assert tcuq_channels_ok(monitor->profile);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_given(monitor);
    //@ assert monitor->profile->term_count != 0 ==> tcuq_terms_ok(monitor->profile, monitor->profile->term_count);
    return status == TCUQ_OK;
}

/* Reads one page; returns whether the monitor is restored from a page that was the newest when it was read. As long
 * as it is not, older pages give one: they are written in turn, so that the last one read is the newest of them. */
static bool tcuq_keeper_read(const tcuq_keeper *keeper, uint8_t page, bool restored)
{
    //@ calls tcuq_any_read_copy;
    if (!keeper->read(keeper->context, page, keeper->buffer, keeper->size)) {
        return restored;
    }
    //@ assert tcuq_keeper_kept{Pre, Here}(keeper);
    //@ assert tcuq_keeper_uplink(keeper) && tcuq_keeper_calls(keeper) && tcuq_keeper_counts(keeper);
    //@ assert tcuq_keeper_apart(keeper) && tcuq_keeper_tables(keeper) && tcuq_keeper_room(keeper);
    //@ assert tcuq_given(keeper->monitor);
    //@ assert tcuq_limits_ok(keeper->monitor->profile);
    //@ assert tcuq_state_ok(keeper->monitor);
    //@ assert tcuq_keeper_terms(keeper);
    const tcuq_status status = tcuq_keeper_take_uplink(keeper, page);
    if ((status == TCUQ_OK) || ((status == TCUQ_OLDER) && !restored)) {
        return (tcuq_keeper_take_monitor(keeper) && (status == TCUQ_OK)) || restored;
    }
    return restored;
}

static void tcuq_keeper_restore(const tcuq_keeper *keeper)
{
    const uint8_t pages = keeper->uplink->pages;
    bool restored = false;
    /*@ loop invariant page <= pages;
        loop invariant keeper->size == \at(keeper->size, Pre);
        loop invariant keeper->uplink->slots == \at(keeper->uplink->slots, Pre);
        loop invariant keeper->uplink->record_bytes == \at(keeper->uplink->record_bytes, Pre);
        loop invariant tcuq_sizes_kept{Pre, Here}(keeper->monitor->profile);
        loop invariant tcuq_keeper_uplink(keeper);
        loop invariant tcuq_keeper_counts(keeper);
        loop invariant tcuq_keeper_apart(keeper);
        loop invariant tcuq_keeper_tables(keeper);
        loop invariant tcuq_keeper_calls(keeper);
        loop invariant tcuq_given(keeper->monitor);
        loop invariant tcuq_limits_ok(keeper->monitor->profile);
        loop invariant tcuq_state_ok(keeper->monitor);
        loop invariant tcuq_keeper_terms(keeper);
        loop invariant tcuq_keeper_room(keeper);
        loop assigns page, restored, TCUQ_READ_BEFORE;
        loop variant pages - page; */
    for (uint32_t page = 0u; page < pages; page++) {
        restored = tcuq_keeper_read(keeper, (uint8_t)page, restored);
    }
}

static tcuq_status tcuq_keeper_start(const tcuq_keeper *keeper, uint32_t now_s)
{
    tcuq_uplink *uplink = keeper->uplink;
    tcuq_monitor *monitor = keeper->monitor;
    return tcuq_uplink_begin(uplink, monitor, now_s);
}

tcuq_status tcuq_keeper_begin(const tcuq_keeper *keeper, uint32_t now_s)
{
    if ((keeper == NULL) || (keeper->uplink == NULL) || (keeper->monitor == NULL) || (keeper->read == NULL) ||
        (keeper->write == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    tcuq_uplink *uplink = keeper->uplink;
    tcuq_monitor *monitor = keeper->monitor;
    //@ assert 0 <= tcuq_cells(uplink->slots, uplink->record_bytes) <= 255000;
    if ((keeper->buffer == NULL) || (keeper->size < (tcuq_uplink_size(uplink) + tcuq_snapshot_size(monitor)))) {
        return TCUQ_ERROR_BUFFER;
    }
    const tcuq_status status = tcuq_uplink_init(uplink);
    //@ assert tcuq_keeper_kept{Pre, Here}(keeper);
    if (status != TCUQ_OK) {
        return status;
    }
    tcuq_keeper_restore(keeper);
    return tcuq_keeper_start(keeper, now_s);
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
    tcuq_uplink *uplink = keeper->uplink;
    const tcuq_status recorded = tcuq_uplink_record(uplink, keeper->monitor, &keeper->identity, now_s);
    //@ assert tcuq_keeper_uplink(keeper) && tcuq_keeper_calls(keeper) && tcuq_keeper_apart(keeper);
    //@ assert tcuq_given(keeper->monitor);
    //@ assert tcuq_limits_ok(keeper->monitor->profile);
    //@ assert tcuq_keeper_room(keeper);
    const tcuq_status written = tcuq_keeper_write(keeper); /* also what was recorded before */
    return (recorded < TCUQ_OK) ? recorded : written;
}
