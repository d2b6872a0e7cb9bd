/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what a sound uplink is, and what its functions ask, change and
 * leave. Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_UPLINK_H
#define TCUQ_ACSL_UPLINK_H

#include "tcuq_acsl_sign.h"

/*@ predicate tcuq_uplink_rules(tcuq_uplink *u) =
      2 <= u->slots && 2 <= u->pages && 2 <= u->first_s && u->first_s <= u->interval_s < 0x80000000 &&
      1 <= u->resend_s <= u->longest_s && u->least_steps != 0;

    predicate tcuq_uplink_ok(tcuq_uplink *u) =
      \valid_read(u) && \valid(u->state) && \separated(u, u->state) && tcuq_uplink_rules(u) &&
      u->state->tries <= 16 && u->state->writes <= TCUQ_UPLINK_MAX_WRITES; */

#define TCUQ_UPLINK_TIMES \
    uplink->state->clock_s, uplink->state->wait_s, uplink->state->turn_s, uplink->state->first

/* The row of records: as large as the uplink says, and no part within another. */
/*@ predicate tcuq_row_of(tcuq_uplink *u, integer bytes) =
      \valid(u->records + (0 .. bytes - 1)) && \separated(u, u->state, u->records + (0 .. bytes - 1));

    predicate tcuq_row_ok(tcuq_uplink *u) =
      \valid_read(u) && \valid(u->state) && 2 <= u->slots && 2 <= u->pages &&
      TCUQ_RECORD_BYTES <= u->record_bytes <= TCUQ_SIGNED_BYTES && u->state->count <= u->slots &&
      tcuq_row_of(u, tcuq_cells(u->slots, u->record_bytes)); */

/* Stands for the caller's function, which touches no memory of the uplink. */
/*@ requires \valid_read(record + (0 .. size - 1)); assigns \nothing; */
bool tcuq_any_send(void *context, const uint8_t *record, uint32_t size);

/*@ predicate tcuq_signing_ok(tcuq_uplink *u) =
      u->mac == \null || (u->mac == &tcuq_any_mac && u->record_bytes == TCUQ_SIGNED_BYTES);

    predicate tcuq_uplink_begun(tcuq_uplink *u) =
      tcuq_uplink_ok(u) && tcuq_row_ok(u) && tcuq_signing_ok(u) && u->send == &tcuq_any_send; */

#define TCUQ_ROW_BYTES tcuq_cells(uplink->slots, uplink->record_bytes)
#define TCUQ_ROW uplink->records[0 .. TCUQ_ROW_BYTES - 1]
#define TCUQ_ROW_APART(other) \separated(other, uplink, uplink->state, uplink->records + (0 .. TCUQ_ROW_BYTES - 1))
#define TCUQ_SNAPSHOT_BYTES (TCUQ_UPLINK_HEAD_BYTES + TCUQ_ROW_BYTES + 4)

/*@ requires \valid_read(uplink) && uplink->record_bytes <= TCUQ_SIGNED_BYTES && slot <= 255;
    assigns \nothing;
    ensures \result == uplink->records + tcuq_cells(slot, uplink->record_bytes); */
uint8_t *tcuq_slot_at(const tcuq_uplink *uplink, uint32_t slot);

/*@ requires \valid_read(slot + (0 .. TCUQ_RECORD_BYTES - 1)); assigns \nothing; */
uint32_t tcuq_slot_boot(const uint8_t *slot);

/*@ requires \valid_read(slot + (0 .. TCUQ_RECORD_BYTES - 1)); assigns \nothing; */
uint32_t tcuq_slot_sequence(const uint8_t *slot);

/*@ requires tcuq_row_ok(uplink) && 1 <= count && from + count <= uplink->state->count;
    assigns uplink->state->count, TCUQ_ROW;
    ensures uplink->state->count == \old(uplink->state->count) - count; */
void tcuq_row_remove(const tcuq_uplink *uplink, uint32_t from, uint32_t count);

/*@ requires tcuq_row_ok(uplink) && 1 <= uplink->state->count;
    assigns uplink->state->count, TCUQ_ROW;
    ensures uplink->state->count <= \old(uplink->state->count); */
static void tcuq_row_thin(const tcuq_uplink *uplink);

/*@ requires tcuq_row_ok(uplink) && \valid(sequence) && TCUQ_ROW_APART(sequence);
    assigns *sequence, uplink->state->count, TCUQ_ROW;
    ensures \result <= uplink->state->count <= uplink->slots; */
uint32_t tcuq_row_place(const tcuq_uplink *uplink, uint16_t epoch, uint32_t *sequence);

/*@ requires \valid_read(uplink);
    assigns \nothing;
    ensures \result == TCUQ_SNAPSHOT_BYTES; */
uint32_t tcuq_uplink_size(const tcuq_uplink *uplink);

/*@ requires tcuq_row_ok(uplink) && \valid(buffer + (0 .. TCUQ_SNAPSHOT_BYTES - 1));
    requires TCUQ_ROW_APART(buffer + (0 .. TCUQ_SNAPSHOT_BYTES - 1));
    assigns buffer[0 .. TCUQ_SNAPSHOT_BYTES - 1]; */
void tcuq_uplink_encode(const tcuq_uplink *uplink, uint8_t *buffer);

/*@ requires \valid_read(uplink) && \valid_read(uplink->state) && 2 <= uplink->pages;
    assigns \nothing;
    ensures \result < uplink->pages; */
uint8_t tcuq_uplink_page(const tcuq_uplink *uplink);

/* A snapshot takes one of the writes that are allowed, and never more. */
/*@ requires tcuq_row_ok(uplink) && (buffer == \null || \valid(buffer + (0 .. size - 1)));
    requires TCUQ_ROW_APART(buffer + (0 .. size - 1));
    assigns uplink->state->writes, uplink->state->unsaved, buffer[0 .. size - 1];
    ensures \result == TCUQ_OK ==> uplink->state->writes == \old(uplink->state->writes) - 1;
    ensures \result != TCUQ_OK ==> uplink->state->writes == \old(uplink->state->writes); */
tcuq_status tcuq_uplink_snapshot(tcuq_uplink *uplink, uint8_t *buffer, uint32_t size);

/*@ requires tcuq_row_ok(uplink);
    assigns uplink->state->unsaved, uplink->state->page, uplink->state->saves;
    ensures \result != TCUQ_OK ==> uplink->state->page == \old(uplink->state->page);
    ensures \result != TCUQ_OK ==> uplink->state->saves == \old(uplink->state->saves); */
tcuq_status tcuq_uplink_saved(tcuq_uplink *uplink);

/*@ requires tcuq_row_ok(uplink) && \valid_read(bytes + (0 .. TCUQ_SNAPSHOT_BYTES - 1)) && bytes[33] <= uplink->slots;
    assigns \nothing; */
static bool tcuq_row_consistent(const tcuq_uplink *uplink, const uint8_t *bytes);

/*@ requires tcuq_row_ok(uplink) && (bytes == \null || \valid_read(bytes + (0 .. size - 1)));
    assigns \nothing;
    ensures \result == TCUQ_OK ==>
      bytes != \null && TCUQ_SNAPSHOT_BYTES <= size && bytes[33] <= uplink->slots; */
static tcuq_status tcuq_snapshot_sound(const tcuq_uplink *uplink, const uint8_t *bytes, uint32_t size);

/* Whatever bytes the flash held. */
/*@ requires tcuq_row_ok(uplink) && (bytes == \null || \valid_read(bytes + (0 .. size - 1)));
    requires TCUQ_ROW_APART(bytes + (0 .. size - 1));
    assigns uplink->state->saves, uplink->state->boot, uplink->state->sequence, uplink->state->sent,
      uplink->state->clock_s, uplink->state->page, uplink->state->count, uplink->state->phase, TCUQ_ROW;
    ensures uplink->state->count <= uplink->slots;
    ensures \result == TCUQ_OK ==> uplink->state->page < uplink->pages; */
tcuq_status tcuq_uplink_restore(tcuq_uplink *uplink, uint8_t page, const uint8_t *bytes, uint32_t size);

/*@ requires tcuq_row_ok(uplink);
    assigns uplink->state->count, uplink->state->wait_s, uplink->state->tries, uplink->state->due, TCUQ_ROW;
    ensures uplink->state->count <= \old(uplink->state->count); */
static void tcuq_uplink_clear(const tcuq_uplink *uplink, uint32_t boot, uint32_t sequence);

/* A boot's number only grows, and stops before it would wrap. */
/*@ requires \valid_read(uplink) && \valid(uplink->state) && \separated(uplink, uplink->state);
    requires uplink->state->boot <= boot;
    assigns uplink->state->boot, uplink->state->sequence, uplink->state->sent, uplink->state->count,
      uplink->state->stepped, uplink->state->due;
    ensures uplink->state->boot >= \old(uplink->state->boot);
    ensures \result == TCUQ_NEW_BOOT ==> uplink->state->boot > \old(uplink->state->boot);
    ensures \result == TCUQ_NEW_BOOT && uplink->mac == \null ==>
      uplink->state->boot <= \old(uplink->state->boot) + TCUQ_UPLINK_MAX_STEP;
    ensures uplink->state->count == 0 || uplink->state->count == \old(uplink->state->count); */
static tcuq_status tcuq_uplink_move_on(const tcuq_uplink *uplink, uint32_t boot);

/* Whatever bytes came from the network. */
/*@ requires tcuq_uplink_ok(uplink) && tcuq_row_ok(uplink) && tcuq_signing_ok(uplink);
    requires ack == \null || \valid_read(ack + (0 .. size - 1));
    requires TCUQ_ROW_APART(ack + (0 .. size - 1));
    assigns TCUQ_UPLINK_TIMES, uplink->state->tries, uplink->state->due, uplink->state->boot,
      uplink->state->sequence, uplink->state->sent, uplink->state->count, uplink->state->stepped, TCUQ_ROW;
    ensures uplink->state->count <= uplink->slots;
    ensures uplink->state->boot >= \old(uplink->state->boot); */
tcuq_status tcuq_uplink_stored(tcuq_uplink *uplink, const uint8_t *ack, uint32_t size, uint32_t now_s);

/*@ requires \valid_read(uplink) && interval_s != 0;
    assigns \nothing;
    ensures \result < interval_s; */
uint32_t tcuq_place_s(const tcuq_uplink *uplink, uint32_t interval_s);

/*@ requires tcuq_uplink_ok(uplink);
    assigns TCUQ_UPLINK_TIMES, uplink->state->tries, uplink->state->writes, uplink->state->due, uplink->state->phase;
    ensures uplink->state->tries == 0 && uplink->state->writes == 0 && uplink->state->phase == TCUQ_RUNNING; */
void tcuq_time_begin(const tcuq_uplink *uplink, uint32_t now_s);

/* Whatever the clock says, waits never get longer. */
/*@ requires tcuq_uplink_ok(uplink);
    assigns TCUQ_UPLINK_TIMES;
    ensures uplink->state->turn_s <= \old(uplink->state->turn_s);
    ensures uplink->state->wait_s <= \old(uplink->state->wait_s);
    ensures \old(uplink->state->first) == 0 ==> uplink->state->first == 0; */
void tcuq_time_pass(const tcuq_uplink *uplink, uint32_t now_s);

/* Flash writes are bounded whatever the clock does: after a boot's first record, no further one falls due and no
 * write is allowed before the monitor has counted least_steps. */
/*@ requires tcuq_uplink_ok(uplink);
    assigns uplink->state->wait_s, uplink->state->turn_s, uplink->state->turn_steps, uplink->state->first,
      uplink->state->stepped, uplink->state->due, uplink->state->writes;
    ensures uplink->state->writes <= TCUQ_UPLINK_MAX_WRITES;
    ensures uplink->least_steps != TCUQ_UPLINK_CLOCK_ALONE && \old(uplink->state->first) == 0 &&
      (uint32_t)(steps - \old(uplink->state->turn_steps)) < uplink->least_steps ==>
        uplink->state->writes == \old(uplink->state->writes) && uplink->state->due == \old(uplink->state->due) &&
        uplink->state->turn_steps == \old(uplink->state->turn_steps) && uplink->state->first == 0;
    ensures \old(uplink->state->first) == 0 ==> uplink->state->writes <= \old(uplink->state->writes) + 1; */
void tcuq_time_turn(const tcuq_uplink *uplink, uint32_t steps);

/*@ requires \valid(state); assigns state->wait_s, state->tries; ensures state->wait_s == 0 && state->tries == 0; */
void tcuq_send_now(tcuq_uplink_state *state);

/*@ requires tcuq_uplink_ok(uplink);
    assigns uplink->state->tries, uplink->state->random, uplink->state->wait_s;
    ensures uplink->state->tries <= 16 && 1 <= uplink->state->wait_s; */
void tcuq_back_off(const tcuq_uplink *uplink);

/*@ requires tcuq_uplink_ok(uplink);
    assigns \nothing; */
uint32_t tcuq_uplink_wait_s(const tcuq_uplink *uplink, uint32_t now_s);

/*@ requires \valid_read(uplink);
    assigns \nothing;
    ensures \result ==> tcuq_uplink_rules(uplink) && uplink->state != \null && uplink->records != \null &&
      uplink->send != \null && uplink->record_bytes == (uplink->mac == \null ? TCUQ_RECORD_BYTES : TCUQ_SIGNED_BYTES); */
static bool tcuq_uplink_sound(const tcuq_uplink *uplink);

/* What begins is sound, but for memory, which is the caller's. */
/*@ requires uplink == \null || \valid_read(uplink);
    requires uplink != \null && uplink->state != \null ==> \valid(uplink->state) && \separated(uplink, uplink->state);
    assigns *uplink->state;
    ensures \result == TCUQ_OK ==> tcuq_uplink_rules(uplink);
    ensures \result == TCUQ_OK ==> \valid(uplink->state) && \separated(uplink, uplink->state);
    ensures \result == TCUQ_OK ==>
      uplink->state->tries == 0 && uplink->state->writes == 0 && uplink->state->count == 0; */
tcuq_status tcuq_uplink_init(tcuq_uplink *uplink);

/* A boot's number is used once. */
/*@ requires tcuq_uplink_ok(uplink) && (monitor == \null || \valid_read(monitor));
    requires monitor != \null && monitor->telemetry != \null ==> \valid(monitor->telemetry) &&
      \separated(monitor->telemetry, monitor) && \separated(monitor->telemetry, uplink) &&
      \separated(monitor->telemetry, uplink->state) && \separated(monitor, uplink->state);
    assigns *uplink->state, *monitor->telemetry;
    ensures uplink->state->count == \old(uplink->state->count);
    ensures \old(uplink->state->sequence) != 0 && \result == TCUQ_OK ==>
      uplink->state->boot == \old(uplink->state->boot) + 1 && uplink->state->sequence == 0;
    ensures \result == TCUQ_OK ==> tcuq_uplink_ok(uplink) && uplink->state->phase == TCUQ_RUNNING; */
tcuq_status tcuq_uplink_begin(tcuq_uplink *uplink, tcuq_monitor *monitor, uint32_t now_s);

/* A monitor after tcuq_init, whose memory and the uplink's are apart. */
#define TCUQ_UPLINK_MONITOR \
    (tcuq_held(monitor) && tcuq_alarm_ok(monitor) && TCUQ_MONITOR_APART(uplink->state) && \
     TCUQ_MONITOR_APART(uplink->records + (0 .. TCUQ_ROW_BYTES - 1)))
#define TCUQ_MONITOR_APART(other) \
    \separated(other, monitor, monitor->profile, monitor->core, TCUQ_COUNTERS, TCUQ_CHANNEL_STATES, \
      monitor->profile->channels + (0 .. monitor->profile->channel_count - 1))

#define TCUQ_UPLINK_KEPT \
    (uplink->slots == \at(uplink->slots, Pre) && uplink->record_bytes == \at(uplink->record_bytes, Pre) && \
     uplink->records == \at(uplink->records, Pre) && uplink->state == \at(uplink->state, Pre) && \
     uplink->mac == \at(uplink->mac, Pre) && tcuq_row_ok(uplink))

/* A record goes into a slot that the row has, and takes the next sequence. */
/*@ requires tcuq_uplink_begun(uplink) && \valid_read(identity) && TCUQ_ROW_APART(identity) && monitor->telemetry != \null;
    requires TCUQ_UPLINK_MONITOR;
    assigns uplink->state->due, uplink->state->count, uplink->state->wait_s, uplink->state->tries,
      uplink->state->sequence, uplink->state->unsaved, TCUQ_ROW;
    ensures uplink->state->count <= uplink->slots;
    ensures uplink->state->tries <= 16;
    ensures \result == TCUQ_OK ==> 1 <= uplink->state->count && uplink->state->unsaved == TCUQ_UNSAVED; */
static tcuq_status tcuq_uplink_make(const tcuq_uplink *uplink, const tcuq_monitor *monitor,
                                    const tcuq_identity *identity);

/*@ requires tcuq_uplink_begun(uplink) && (identity == \null || (\valid_read(identity) && TCUQ_ROW_APART(identity)));
    requires monitor == \null || TCUQ_UPLINK_MONITOR;
    assigns *uplink->state, TCUQ_ROW;
    ensures uplink->state->count <= uplink->slots && uplink->state->tries <= 16; */
tcuq_status tcuq_uplink_record(tcuq_uplink *uplink, const tcuq_monitor *monitor, const tcuq_identity *identity,
                               uint32_t now_s);

/* Nothing is sent that is not in flash. */
/*@ requires tcuq_uplink_begun(uplink);
    assigns TCUQ_UPLINK_TIMES, uplink->state->sent, uplink->state->tries, uplink->state->random;
    ensures \result == TCUQ_OK ==> uplink->state->unsaved == TCUQ_SAVED && 1 <= uplink->state->count;
    ensures \result != TCUQ_OK ==> uplink->state->sent == \old(uplink->state->sent);
    ensures uplink->state->tries <= 16; */
tcuq_status tcuq_uplink_run(tcuq_uplink *uplink, uint32_t now_s);

#endif
