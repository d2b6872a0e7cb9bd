/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: two places in flash for blobs, and which of them runs (docs/howto/ota.md).
 *
 * The firmware writes a new blob into the spare slot. tcuq_slots_activate checks it there, runs its self-test and
 * switches by one write of TCUQ_SLOTS_BYTES. The new profile is then on trial: unless it is confirmed within so
 * many restarts, the one before it comes back. Two pages hold the switch and are written in turn, so that a power
 * cut at any moment leaves the old switch or the new one.
 *
 * Nothing is given up for want of an answer: if the verifier, the counter or external flash is busy or fails, the
 * built-in profile runs until a later start, and flash stays as it is.
 *
 * None of the functions may run at the same time as another one of the same slots. */
#ifndef TCUQ_SLOTS_H
#define TCUQ_SLOTS_H

#include "tcuq_blob.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_SLOTS_BYTES 36u
#define TCUQ_SLOTS_BUILT_IN 2u /* the slot of the profile that the firmware was built with */

/* Erases a page of the switch, 0 or 1, and writes it; false if that failed. */
typedef bool (*tcuq_write_page)(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

/* Copies slot 0 or 1 from external flash to the memory at slots[slot]; false if that failed. */
typedef bool (*tcuq_read_slot)(void *context, uint8_t slot);

/* A counter of the chip that never goes back, as fuses or a secure element have: the number of the last confirmed
 * blob. Restoring an old copy of flash then brings no old profile back. */
typedef struct {
    bool (*read)(void *context, uint32_t *number); /* false: no answer now */
    bool (*raise)(void *context, uint32_t number); /* false: it could not be raised */
    void *context;
} tcuq_counter;

/* The switch, as it is in flash, and what runs; the caller reads, the functions below write. */
typedef struct {
    uint32_t saves;      /* times the switch was written */
    uint32_t highest;    /* number: the highest that was ever activated */
    uint32_t numbers[2]; /* of the blob in each slot; 0: none */
    uint8_t active;      /* slot, or TCUQ_SLOTS_BUILT_IN: of the profile that is to run */
    uint8_t before;      /* the one that comes back if the active one is not confirmed */
    uint8_t left;        /* restarts until then; 0: the active one is confirmed */
    uint8_t page;        /* of the newest switch */
    uint8_t running;     /* slot of the profile that runs: another one than `active` after BUSY or FLASH */
    uint8_t reserved[3];
} tcuq_slots_state;

typedef struct {
    tcuq_loader loader;
    const tcuq_profile *built_in;
    const uint8_t *slots[2]; /* where blobs are read, beginning at a multiple of 8: internal flash, or RAM */
    const uint8_t *pages[2]; /* where the switch is read */
    uint32_t slot_bytes;     /* of each slot */
    uint32_t first_number;   /* of the first blob that this firmware takes or runs, 1.. */
    uint8_t trial;           /* restarts within which a new profile must be confirmed, 1..254 */
    tcuq_write_page write;
    void *write_context;
    tcuq_read_slot read; /* null: internal flash. Else slots[] is RAM: what is checked there is what runs */
    void *read_context;
    tcuq_mac mac; /* the switch has its tag, so that nobody else writes one; null: a checksum */
    void *mac_context;
    const tcuq_counter *counter; /* null: the switch alone says which numbers are used */
    tcuq_slots_state *state;
} tcuq_slots;

/* After each restart: loads the active profile, after its self-test, or the one before it, or else the built-in one,
 * and starts the monitor, whose profile is the loader's room's. Returns OK, or why the active one does not run;
 * state->running says which does. After BUSY it may be called again.
 * slots: the caller's configuration. monitor: with memory for every profile that may come. One caller at a time, and
 * no step of this monitor meanwhile. */
TCUQ_MUST_CHECK tcuq_status tcuq_slots_start(tcuq_slots *slots, tcuq_monitor *monitor);

/* The slot of these slots that a new blob is to be written to; TCUQ_SLOTS_BUILT_IN if none is free: a profile is on
 * trial, or flash could not be written. */
uint8_t tcuq_slots_spare(const tcuq_slots *slots);

/* Checks the blob in the spare slot and switches to it. OK: the new profile runs from its calibrated state, on
 * trial. Else the old one runs; if the new one got as far as memory, from its calibrated state: take a snapshot
 * before, and restore it after an error. A blob that is not authentic, new and in time never gets so far.
 * slots, monitor: those of tcuq_slots_start. */
TCUQ_MUST_CHECK tcuq_status tcuq_slots_activate(tcuq_slots *slots, tcuq_monitor *monitor);

/* The active profile of these slots works: it stays, and the counter is raised to its number. TRIAL if another one
 * runs. Calls after the first one write nothing, unless the counter could not be raised before. */
TCUQ_MUST_CHECK tcuq_status tcuq_slots_confirm(tcuq_slots *slots);

#ifdef __cplusplus
}
#endif

#endif
