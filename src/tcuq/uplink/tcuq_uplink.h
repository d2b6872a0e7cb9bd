/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: records go out until the store has said that it holds them. C99, integers only, no allocation,
 * no globals; memory, clock, network and flash are the caller's (docs/howto/uplink.md).
 *
 * Waiting records stand in one row, oldest first, and only the first of them is sent. What that keeps:
 * - nothing of a boot is sent before the last record of the boot before it is acknowledged;
 * - a boot's first record is sent until it is acknowledged, and then only the newest: a device that took a
 *   boot's number for the second time hears of it before its counters can be mixed with the first one's;
 * - nothing is sent that a power cut could make the device forget (tcuq_uplink_saved). */
#ifndef TCUQ_UPLINK_H
#define TCUQ_UPLINK_H

#ifdef __cplusplus
extern "C" {
#endif

#include "tcuq.h"
#include "tcuq_sign.h"
#include "tcuq_uplink_status.h"

#if !TCUQ_WITH_TELEMETRY
#error "the uplink sends records: build the runtime with TCUQ_WITH_TELEMETRY 1"
#endif

#define TCUQ_UPLINK_MIN_SLOTS 2u
#define TCUQ_UPLINK_HEAD_BYTES 30u
#define TCUQ_UPLINK_IDLE UINT32_MAX

/* Bytes of a snapshot, for a caller's array. */
#define TCUQ_UPLINK_BYTES(slots, record_bytes) \
    (TCUQ_UPLINK_HEAD_BYTES + (uint32_t)(slots) * (uint32_t)(record_bytes) + 4u)

/* Hands one record to the network; true if it was taken. Taken or not, it is sent again later. */
typedef bool (*tcuq_send)(void *context, const uint8_t *record, uint32_t size);

typedef struct {
    uint32_t boot;     /* the present one */
    uint32_t sequence; /* of its next record */
    uint32_t sent;     /* sequences below this one may have been sent */
    uint32_t saves;    /* snapshots taken */
    uint32_t random;
    uint32_t since_s; /* the first record waits from here ... */
    uint32_t wait_s;  /* ... for so long */
    uint8_t tries;
    uint8_t count;   /* slots that hold a record */
    uint8_t unsaved; /* 1: something is not in the caller's flash yet */
    uint8_t reserved;
} tcuq_uplink_state;

typedef struct {
    uint64_t device;
    uint32_t interval_s; /* between two records */
    uint16_t resend_s;   /* the first wait for an acknowledgement, 1.. ; doubles ... */
    uint16_t longest_s;  /* ... up to this */
    tcuq_send send;
    void *send_context;
    tcuq_mac mac; /* null: records of version 1; else version 2 */
    void *mac_context;
    uint8_t key; /* its number, for version 2 */
    uint8_t slots;
    uint8_t record_bytes; /* TCUQ_RECORD_BYTES, or TCUQ_SIGNED_BYTES with a mac */
    uint8_t *records;     /* slots x record_bytes */
    tcuq_uplink_state *state;
} tcuq_uplink;

/* Checks everything once, and starts a device that never sent anything. */
tcuq_uplink_status tcuq_uplink_init(const tcuq_uplink *uplink);

/* After a restart: the newer of two snapshots that is whole; either may be null. What is refused changes
 * nothing. A device without a whole snapshot goes on as a new one, and finds its way by NEW_BOOT. */
tcuq_uplink_status tcuq_uplink_restore(const tcuq_uplink *uplink, const uint8_t *first,
                                       const uint8_t *second, uint32_t size);

/* Counters start at 0 here, so a new boot does: after each restart, and after tcuq_reset or tcuq_restore of
 * the monitor. Clears the monitor's counters. */
tcuq_uplink_status tcuq_uplink_begin(const tcuq_uplink *uplink, const tcuq_monitor *monitor, uint32_t now_s);

/* Seconds from now until this device's send time in the interval, by a hash of its id: make records then. */
uint32_t tcuq_uplink_send_time_s(const tcuq_uplink *uplink, uint32_t now_s);

/* Makes a record and keeps it. Device, boot and sequence of the identity are the uplink's, not read. */
tcuq_uplink_status tcuq_uplink_record(const tcuq_uplink *uplink, const tcuq_monitor *monitor,
                                      const tcuq_identity *identity, uint32_t now_s);

/* The state as bytes: write them to copy (state->saves & 1) of two in flash, then say tcuq_uplink_saved. */
uint32_t tcuq_uplink_size(const tcuq_uplink *uplink);
tcuq_uplink_status tcuq_uplink_snapshot(const tcuq_uplink *uplink, uint8_t *buffer, uint32_t size);
void tcuq_uplink_saved(const tcuq_uplink *uplink);

/* Sends the first record if its time has come. A clock that jumps sends one record early, or late by the
 * jump, never none. */
tcuq_uplink_status tcuq_uplink_run(const tcuq_uplink *uplink, uint32_t now_s);

/* Seconds until tcuq_uplink_run has something to send; TCUQ_UPLINK_IDLE if nothing waits. */
uint32_t tcuq_uplink_wait_s(const tcuq_uplink *uplink, uint32_t now_s);

/* "State of this boot stored through sequence": device u64, boot u32, sequence u32. After NEW_BOOT the
 * counters go on: the next record brings all of them under the new id. */
tcuq_uplink_status tcuq_uplink_stored(const tcuq_uplink *uplink, const uint8_t *ack, uint32_t size,
                                      uint32_t now_s);

#ifdef __cplusplus
}
#endif

#endif
