/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what a keeper is given, and what its functions change and leave. Read by
 * Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_KEEP_H
#define TCUQ_ACSL_KEEP_H

/* Stand for the caller's functions, which touch no memory of the uplink and the monitor but the buffer. */
/*@ requires \valid(bytes + (0 .. size - 1)); assigns bytes[0 .. size - 1]; */
bool tcuq_any_read_copy(void *context, uint8_t page, uint8_t *bytes, uint32_t size);

/*@ requires \valid_read(bytes + (0 .. size - 1)); assigns \nothing; */
bool tcuq_any_write_copy(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

/* In what follows, as in the contracts of the uplink and the monitor. */
#define uplink keeper->uplink
#define monitor keeper->monitor

#define TCUQ_COPY (keeper->buffer + (0 .. keeper->size - 1))
#define TCUQ_ROW_STATE \
    uplink->state->saves, uplink->state->boot, uplink->state->sequence, uplink->state->sent, uplink->state->clock_s, \
    uplink->state->page, uplink->state->count, uplink->state->phase
#define TCUQ_TABLE_APART(table) \
    \base_addr(table) != \base_addr(keeper->buffer) && \base_addr(table) != \base_addr(uplink->records) && \
    \base_addr(table) != \base_addr(uplink->state)

/* Nothing of the monitor lies in the memory that is written for the uplink, nor the other way round. */
#define TCUQ_OTHER_MEMORY(other) \
    \separated(other, keeper, uplink, monitor, monitor->profile, monitor->core, TCUQ_SLOTS, TCUQ_POSTERIORS, \
      TCUQ_FEATURES, TCUQ_SMOOTHED, TCUQ_CHANNEL_STATES, TCUQ_COUNTERS, \
      monitor->profile->channels + (0 .. monitor->profile->channel_count - 1))

/*@ predicate tcuq_keeper_uplink(tcuq_keeper *keeper) =
      \valid_read(keeper) && \valid(uplink->state) && 2 <= uplink->slots && 2 <= uplink->pages &&
      TCUQ_RECORD_BYTES <= uplink->record_bytes <= TCUQ_SIGNED_BYTES && \valid_read(uplink) &&
      tcuq_row_of(uplink, TCUQ_ROW_BYTES) && \separated(uplink, uplink->state) && \separated(keeper, uplink->state);

    predicate tcuq_keeper_apart(tcuq_keeper *keeper) =
      TCUQ_OTHER_MEMORY(uplink->state) && TCUQ_OTHER_MEMORY(uplink->records + (0 .. TCUQ_ROW_BYTES - 1)) &&
      TCUQ_OTHER_MEMORY(TCUQ_COPY) && TCUQ_ROW_APART(TCUQ_COPY);

    predicate tcuq_keeper_tables(tcuq_keeper *keeper) =
      \forall integer i; 0 <= i < monitor->profile->term_count ==> TCUQ_TABLE_APART(monitor->profile->terms + i) &&
        TCUQ_TABLE_APART(monitor->profile->terms[i].points) && TCUQ_TABLE_APART(monitor->profile->terms[i].bits_q10);

    predicate tcuq_keeper_terms(tcuq_keeper *keeper) = monitor->profile->term_count != 0 ==> tcuq_tables_ready(monitor);

    predicate tcuq_keeper_calls(tcuq_keeper *keeper) =
      keeper->read == &tcuq_any_read_copy && keeper->write == &tcuq_any_write_copy;

    predicate tcuq_keeper_room(tcuq_keeper *keeper) =
      \valid(TCUQ_COPY) && 0 <= tcuq_snapshot_bytes(monitor) &&
      0 <= TCUQ_SNAPSHOT_BYTES <= TCUQ_SNAPSHOT_BYTES + tcuq_snapshot_bytes(monitor) <= keeper->size;

    predicate tcuq_keeper_ok(tcuq_keeper *keeper) =
      tcuq_keeper_uplink(keeper) && tcuq_keeper_apart(keeper) && tcuq_keeper_tables(keeper) && tcuq_keeper_calls(keeper) &&
      tcuq_given(monitor) && tcuq_limits_ok(monitor->profile) && tcuq_state_ok(monitor) && tcuq_keeper_terms(keeper); */

/* Whatever the page holds. */
/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && uplink->state->count <= uplink->slots;
    assigns TCUQ_ROW_STATE, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE;
    ensures uplink->state->count <= uplink->slots;
    ensures tcuq_keeper_uplink(keeper);
    ensures tcuq_keeper_apart(keeper);
    ensures tcuq_keeper_tables(keeper);
    ensures tcuq_keeper_calls(keeper);
    ensures tcuq_given(monitor);
    ensures tcuq_limits_ok(monitor->profile);
    ensures tcuq_state_ok(monitor);
    ensures tcuq_keeper_terms(keeper);
    ensures tcuq_keeper_room(keeper); */
static bool tcuq_keeper_read(const tcuq_keeper *keeper, uint8_t page, bool restored);

/* A null is refused, and a buffer without room. */
/*@ requires keeper == \null || \valid_read(keeper);
    requires keeper != \null && uplink != \null && monitor != \null && keeper->read != \null &&
      keeper->write != \null ==> tcuq_keeper_ok(keeper) && (keeper->buffer == \null || \valid(TCUQ_COPY));
    assigns *uplink->state, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE;
    ensures \result == TCUQ_OK ==> tcuq_uplink_ok(uplink) && uplink->state->phase == TCUQ_RUNNING &&
      uplink->state->count <= uplink->slots;
    ensures \result == TCUQ_OK ==> tcuq_keeper_room(keeper); */
tcuq_status tcuq_keeper_begin(const tcuq_keeper *keeper, uint32_t now_s);

/* What was not written is not said to be saved. */
/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_uplink_begun(uplink);
    assigns uplink->state->writes, uplink->state->unsaved, uplink->state->page, uplink->state->saves, *TCUQ_COPY;
    ensures \result != TCUQ_OK ==> uplink->state->page == \old(uplink->state->page);
    ensures \result != TCUQ_OK ==> uplink->state->saves == \old(uplink->state->saves);
    ensures uplink->state->writes <= \old(uplink->state->writes); */
static tcuq_status tcuq_keeper_write(const tcuq_keeper *keeper);

/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_uplink_begun(uplink);
    assigns *uplink->state, TCUQ_ROW, *TCUQ_COPY;
    ensures uplink->state->count <= uplink->slots && uplink->state->tries <= 16; */
tcuq_status tcuq_keeper_save(const tcuq_keeper *keeper, uint32_t now_s);

#undef uplink
#undef monitor

#endif
