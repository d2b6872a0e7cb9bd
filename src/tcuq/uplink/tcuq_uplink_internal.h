/* SPDX-License-Identifier: Apache-2.0 */
/* What the uplink's files share; no part of its interface. */
#ifndef TCUQ_UPLINK_INTERNAL_H
#define TCUQ_UPLINK_INTERNAL_H

#include "tcuq_bytes.h"
#include "tcuq_internal.h"
#include "tcuq_uplink.h"

/* unsaved */
#define TCUQ_SAVED 0u
#define TCUQ_UNSAVED 1u
#define TCUQ_TAKEN 2u
/* due */
#define TCUQ_LATER 0u
#define TCUQ_DUE 1u
#define TCUQ_DUE_NO_SLOT 2u
/* phase; 0 after init */
#define TCUQ_RESTORED 1u
#define TCUQ_RUNNING 2u

#define TCUQ_CLOCK_BACK 0x80000000u /* a difference from here on is of a clock that was set back */

/* tcuq_uplink_row.c: the row of waiting records. */
uint8_t *tcuq_slot_at(const tcuq_uplink *uplink, uint32_t slot);
uint32_t tcuq_slot_boot(const uint8_t *slot);
uint32_t tcuq_slot_sequence(const uint8_t *slot);
void tcuq_row_remove(const tcuq_uplink *uplink, uint32_t from, uint32_t count);

/* Where the present boot's newest record goes, and under which sequence: over the last one, which then nobody
 * needs any more, or behind it. The number of slots if there is no room. */
uint32_t tcuq_row_place(const tcuq_uplink *uplink, uint16_t epoch, uint32_t *sequence);

/* tcuq_uplink_time.c: intervals, and the device's place in them. */
uint32_t tcuq_place_s(const tcuq_uplink *uplink, uint32_t interval_s);
void tcuq_time_begin(const tcuq_uplink *uplink, uint32_t now_s);
void tcuq_time_pass(const tcuq_uplink *uplink, uint32_t now_s);
void tcuq_time_turn(const tcuq_uplink *uplink, uint32_t steps);
void tcuq_send_now(tcuq_uplink_state *state);
void tcuq_back_off(const tcuq_uplink *uplink);

/* tcuq_uplink_snapshot.c: the snapshot, without asking whether one is due. */
void tcuq_uplink_encode(const tcuq_uplink *uplink, uint8_t *buffer);

#ifdef __FRAMAC__
#include "tcuq_acsl_uplink.h"
#endif

#endif
