/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: two places in flash for blobs, and which of them runs (docs/howto/ota.md).
 *
 * The firmware writes a new blob into the spare slot. tcuq_slots_activate checks it there, runs its self-test and
 * switches by one write of TCUQ_SLOTS_BYTES. The new profile is then on trial: unless it is confirmed within so
 * many restarts, the one before it comes back. Two pages hold the switch and are written in turn, so that a power
 * cut at any moment leaves the old switch or the new one.
 *
 * None of the functions may run at the same time as another one of the same slots. */
#ifndef TCUQ_SLOTS_H
#define TCUQ_SLOTS_H

#include "tcuq_blob.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_SLOTS_BYTES 28u
#define TCUQ_SLOTS_BUILT_IN 2u /* the slot of the profile that the firmware was built with */

/* Erases a page of the switch, 0 or 1, and writes it; false if that failed. */
typedef bool (*tcuq_write_page)(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

/* The switch, as tcuq_slots_start found it; the caller reads, the functions below write. */
typedef struct {
    uint32_t saves;      /* times the switch was written */
    uint32_t highest;    /* number: the highest that was ever activated */
    uint32_t numbers[2]; /* of the blob in each slot; 0: none */
    uint8_t active;      /* slot, or TCUQ_SLOTS_BUILT_IN: of the profile that runs */
    uint8_t before;      /* the one that comes back if the active one is not confirmed */
    uint8_t left;        /* restarts until then; 0: the active one is confirmed */
    uint8_t page;        /* of the newest switch */
} tcuq_slots_state;

typedef struct {
    tcuq_loader loader;
    const tcuq_profile *built_in;
    const uint8_t *slots[2]; /* where blobs are read, beginning at a multiple of 8 */
    const uint8_t *pages[2]; /* where the switch is read */
    uint32_t slot_bytes;     /* of each slot */
    uint32_t first_number;   /* of the first blob that this firmware takes, 1.. */
    uint8_t trial;           /* restarts within which a new profile must be confirmed, 1..254 */
    tcuq_write_page write;
    void *write_context;
    tcuq_slots_state *state;
} tcuq_slots;

/* After each restart: loads the active profile, after its self-test, or the one before it, or else the built-in one,
 * and starts the monitor, whose profile is the loader's room's. Returns OK, or why the active one does not run;
 * state->active says which does.
 * slots: the caller's configuration. monitor: with memory for every profile that may come. One caller at a time, and
 * no step of this monitor meanwhile. */
tcuq_blob_status tcuq_slots_start(const tcuq_slots *slots, const tcuq_monitor *monitor);

/* The slot of these slots that a new blob is to be written to; TCUQ_SLOTS_BUILT_IN while a profile is on trial: none
 * is free. */
uint8_t tcuq_slots_spare(const tcuq_slots *slots);

/* Checks the blob in the spare slot and switches to it. OK: the new profile runs from its calibrated state, on
 * trial. Else the old one runs; if the new one got as far as memory, from its calibrated state: take a snapshot
 * before, and restore it after an error. A blob without a true tag and a new number never gets so far.
 * slots, monitor: those of tcuq_slots_start. */
tcuq_blob_status tcuq_slots_activate(const tcuq_slots *slots, const tcuq_monitor *monitor);

/* The active profile of these slots works: it stays. */
tcuq_blob_status tcuq_slots_confirm(const tcuq_slots *slots);

#ifdef __cplusplus
}
#endif

#endif
