/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: records go out until the store has said that it holds them. C99, integers only, no allocation,
 * no globals; memory, clock, network and flash are the caller's (docs/howto/uplink.md).
 *
 * Waiting records stand in one row, oldest first, and only the first of them is sent. What that keeps:
 * - nothing of a boot is sent before the last record of the boot before it is acknowledged;
 * - a boot's first record is sent until it is acknowledged: a device that took a boot's number for the second
 *   time learns of it before its counters can be mixed with the first one's;
 * - of each closed epoch one record waits while there are slots, and of each boot the newest;
 * - nothing is sent that a power cut could make the device forget (tcuq_uplink_saved).
 *
 * Time. Clocks are set forward and back, so that only differences between two calls count: forward as they
 * are, back as nothing. One jump makes at most one record or sending early. Whatever the clock does, least_steps
 * bounds records by the monitor's own count of steps.
 *
 * None of the functions may run at the same time as another one of the same uplink, nor tcuq_step at the same time
 * as one that is given its monitor; call none from an interrupt. send, mac, read and write are called from within
 * tcuq_uplink_run, tcuq_uplink_record, tcuq_uplink_stored and those of a tcuq_keeper, and call none of them. Buffers need no alignment. Undefined: calls before
 * tcuq_uplink_init returned OK, and null where it is not said to be refused. In every function
 * `uplink` is the caller's configuration, which stays as it is, and `now_s` the caller's clock in seconds. */
#ifndef TCUQ_UPLINK_H
#define TCUQ_UPLINK_H

#include "tcuq.h"
#include "tcuq_sign.h"

#ifdef __cplusplus
extern "C" {
#endif

#if !TCUQ_WITH_TELEMETRY
#error "the uplink sends records: build the runtime with TCUQ_WITH_TELEMETRY 1"
#endif

#define TCUQ_UPLINK_MIN_SLOTS 2u
#define TCUQ_UPLINK_MIN_PAGES 2u
#define TCUQ_UPLINK_HEAD_BYTES 34u
#define TCUQ_UPLINK_MAX_WRITES 4u  /* snapshots at once; each interval allows one more, a boot's first two */
#define TCUQ_UPLINK_MAX_STEP 4096u /* boots that an acknowledgement without a tag can move a device on */
/* As least_steps: no count is needed, and a clock that jumps at every call brings a record at each. */
#define TCUQ_UPLINK_CLOCK_ALONE UINT32_MAX
#define TCUQ_UPLINK_LATE 4u        /* a record is due after so many times least_steps, whatever the clock says */

/* Bytes of a snapshot, for a caller's array. */
#define TCUQ_UPLINK_BYTES(slots, record_bytes) \
    (TCUQ_UPLINK_HEAD_BYTES + (uint32_t)(slots) * (uint32_t)(record_bytes) + 4u)

/* Hands one record to the network; true if it was taken. Taken or not, it is sent again later. */
typedef bool (*tcuq_send)(void *context, const uint8_t *record, uint32_t size);

typedef struct {
    uint32_t boot;       /* the present one */
    uint32_t sequence;   /* of its next record */
    uint32_t sent;       /* sequences below this one may have been sent */
    uint32_t saves;      /* snapshots written */
    uint32_t random;
    uint32_t clock_s;    /* the clock at the last call */
    uint32_t wait_s;     /* left until the first record is sent */
    uint32_t turn_s;     /* left until the next record is made */
    uint32_t turn_steps; /* the monitor's count when the last one was */
    uint8_t tries;
    uint8_t count;   /* slots that hold a record */
    uint8_t page;    /* of the newest snapshot */
    uint8_t writes;  /* snapshots that may be taken now */
    uint8_t unsaved; /* 0: all is in flash, 1: something is not, 2: it is in a snapshot being written */
    uint8_t due;     /* 0: no record is, 1: one is, 2: one is, but there is no slot for it */
    uint8_t first;   /* not 0: no record was due since the restart, 2: and the clock has jumped */
    uint8_t stepped; /* 1: an acknowledgement without a tag has moved the boot on in this interval */
    uint8_t phase;   /* 0: after init, 1: restored, 2: begun */
    uint8_t reserved[3];
} tcuq_uplink_state;

typedef struct {
    uint64_t device;
    uint32_t interval_s;  /* between two records */
    uint32_t least_steps; /* of the monitor between two records, 1.. ; 15/16 of those in an interval */
    uint16_t first_s;     /* a boot's first record is made when it has run for half to all of this, 2.. */
    uint16_t resend_s;    /* the first wait for an acknowledgement, 1.. ; doubles ... */
    uint16_t longest_s;   /* ... up to this */
    tcuq_send send;
    void *send_context;
    tcuq_mac mac; /* null: records of version 3; else version 4, and acknowledgements must carry its tag */
    void *mac_context;
    uint8_t key; /* its number, for version 4 */
    uint8_t slots;
    uint8_t pages;        /* of flash, each for one snapshot; written in turn */
    uint8_t record_bytes; /* TCUQ_RECORD_BYTES, or TCUQ_SIGNED_BYTES with a mac */
    uint8_t *records;     /* slots x record_bytes */
    tcuq_uplink_state *state;
} tcuq_uplink;

/* Reads a page of flash: size bytes, or false if it cannot; what it read then does not count. */
typedef bool (*tcuq_read_copy)(void *context, uint8_t page, uint8_t *bytes, uint32_t size);

/* Erases a page of flash and writes it; true only if all size bytes are there after a power cut. */
typedef bool (*tcuq_write_copy)(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

/* Keeps an uplink and its monitor in flash, in place of restore, begin, record, snapshot and saved below. */
typedef struct {
    tcuq_uplink *uplink;
    tcuq_monitor *monitor;
    tcuq_identity identity; /* of it only the firmware is read */
    uint32_t size;         /* of buffer and of each copy: at least tcuq_uplink_size + tcuq_snapshot_size */
    uint8_t *buffer;       /* the uplink's bytes, then the monitor's */
    tcuq_read_copy read;
    tcuq_write_copy write;
    void *context;         /* for both */
} tcuq_keeper;

/* Checks everything once, and starts a device that never sent anything. uplink: null is refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_uplink_init(tcuq_uplink *uplink);

/* After a restart, for each page in any order: OK if its snapshot is whole and newer than what was restored
 * before; then restore the monitor from the same page. What is refused changes nothing. A device without a
 * whole snapshot goes on as a new one, and finds its boot id by NEW_BOOT.
 * uplink: after tcuq_uplink_init and before tcuq_uplink_begin, else refused.
 * page: the number of the page that was read, below `pages`.
 * bytes: what it held; null is refused. size: as many as there are; more than a snapshot has are allowed. */
TCUQ_MUST_CHECK tcuq_status tcuq_uplink_restore(tcuq_uplink *uplink, uint8_t page, const uint8_t *bytes,
                                                uint32_t size);

/* Counters start at 0 here, so a new boot does: after each restart, and after tcuq_reset or tcuq_restore of
 * the monitor. Clears the monitor's counters.
 * uplink: after tcuq_uplink_init. monitor: after tcuq_init, with telemetry, else refused.
 * now_s: the clock. */
TCUQ_MUST_CHECK tcuq_status tcuq_uplink_begin(tcuq_uplink *uplink, tcuq_monitor *monitor, uint32_t now_s);

/* Makes a record if one is due, else NOT_DUE: call it as often as you like, at least when tcuq_uplink_wait_s
 * has passed.
 * uplink: after tcuq_uplink_begin. monitor: the one it was begun with; only read.
 * identity: only its firmware is read; device, boot and sequence are the uplink's.
 * now_s: the clock. */
tcuq_status tcuq_uplink_record(tcuq_uplink *uplink, const tcuq_monitor *monitor, const tcuq_identity *identity,
                               uint32_t now_s);

/* Bytes of a snapshot: TCUQ_UPLINK_BYTES of the uplink's slots and record_bytes. */
uint32_t tcuq_uplink_size(const tcuq_uplink *uplink);

/* The state as bytes, if there is something to save: write them to page tcuq_uplink_page, then say
 * tcuq_uplink_saved. After a write that fails, do not: the next snapshot goes to the same page. NOT_DUE if
 * nothing is to be saved, or as many snapshots were taken as this interval allows.
 * uplink: after tcuq_uplink_begin. buffer: takes tcuq_uplink_size bytes; null is refused.
 * size: bytes that buffer has room for; too few are refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_uplink_snapshot(tcuq_uplink *uplink, uint8_t *buffer, uint32_t size);

/* The page of flash that the next snapshot is to be written to; uplink: only read. */
uint8_t tcuq_uplink_page(const tcuq_uplink *uplink);

/* The last snapshot of this uplink is in flash. UNSAVED if there was none, or a record was made after it. */
tcuq_status tcuq_uplink_saved(tcuq_uplink *uplink);

/* Sends the first record if its time has come. uplink: after tcuq_uplink_begin. now_s: the clock. */
tcuq_status tcuq_uplink_run(tcuq_uplink *uplink, uint32_t now_s);

/* Seconds to sleep until a record is to be made, saved or sent. uplink: only read. now_s: the clock. */
uint32_t tcuq_uplink_wait_s(const tcuq_uplink *uplink, uint32_t now_s);

/* "State of this boot stored through sequence": TCUQ_ACK_BYTES, or TCUQ_SIGNED_ACK_BYTES with a mac. After
 * NEW_BOOT the counters go on: the next record, which is due now, brings all of them under the new id.
 * uplink: after tcuq_uplink_begin. ack: any bytes from the network; null is refused.
 * size: as many as came; another number is refused. now_s: the clock. */
tcuq_status tcuq_uplink_stored(tcuq_uplink *uplink, const uint8_t *ack, uint32_t size, uint32_t now_s);

/* After each restart: initialises the uplink, restores it from the newest whole copy in flash and the monitor from
 * the same one, and begins a boot. If the monitor's part of that copy is damaged, it is restored from the newest other
 * one, and without any it stays as it is. Calls read once for each page.
 * keeper: null, or a null in it, is refused, as is a buffer that is too small; both change nothing. Its monitor is one
 * after tcuq_init. now_s: the clock. */
TCUQ_MUST_CHECK tcuq_status tcuq_keeper_begin(const tcuq_keeper *keeper, uint32_t now_s);

/* As often as you like: makes a record if one is due and writes copies if there is something to save; then call
 * tcuq_uplink_run. OK if a copy was written, NOT_DUE if none was to be, UNSAVED if write returned false: nothing is
 * sent before a later call has written, to the same page. Else the error of tcuq_uplink_record, or BUFFER if the
 * monitor has a larger profile now.
 * keeper: after tcuq_keeper_begin returned OK. now_s: the clock. */
tcuq_status tcuq_keeper_save(const tcuq_keeper *keeper, uint32_t now_s);

#ifdef __cplusplus
}
#endif

#endif
