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

/* What is written for the uplink lies outside of what the keeper and the monitor are read for. */
#define TCUQ_NOT_KEEPER(other) \
    \separated(other, keeper) && \separated(other, monitor) && \separated(other, monitor->profile) && \
    \separated(other, monitor->core) && \separated(other, monitor->smoothed_q8 + (0 .. smoothed - 1)) && \
    \separated(other, monitor->channels + (0 .. channels - 1)) && \
    \separated(other, monitor->telemetry + (0 .. counters - 1)) && \
    \separated(other, monitor->profile->channels + (0 .. channels - 1))
/* What is written for the monitor, and not above, lies outside of what the uplink is read for. */
#define TCUQ_NOT_PAST(other) \
    \separated(other, monitor->posteriors + (0 .. posteriors - 1)) && \
    \separated(other, monitor->features + (0 .. features - 1))
#define TCUQ_NOT_MONITOR(other) \
    TCUQ_NOT_PAST(other) && \separated(other, monitor->slots + (0 .. slots - 1)) && \
    \separated(other, monitor->core) && \separated(other, monitor->smoothed_q8 + (0 .. smoothed - 1)) && \
    \separated(other, monitor->channels + (0 .. channels - 1)) && \
    \separated(other, monitor->telemetry + (0 .. counters - 1))

/* Sizes are numbers here, so that it stays true where memory changes and the sizes do not. */
/*@ predicate tcuq_keeper_apart_of(tcuq_keeper *keeper, integer row, integer size, integer slots,
                                   integer posteriors, integer features, integer smoothed, integer channels,
                                   integer counters) =
      TCUQ_NOT_KEEPER(uplink->state) && TCUQ_NOT_KEEPER(uplink->records + (0 .. row - 1)) &&
      TCUQ_NOT_KEEPER(keeper->buffer + (0 .. size - 1)) && TCUQ_NOT_PAST(keeper->buffer + (0 .. size - 1)) &&
      \separated(keeper->buffer + (0 .. size - 1), uplink) &&
      \separated(keeper->buffer + (0 .. size - 1), uplink->state) &&
      \separated(keeper->buffer + (0 .. size - 1), uplink->records + (0 .. row - 1)) &&
      TCUQ_NOT_MONITOR(keeper) && TCUQ_NOT_MONITOR(uplink) && TCUQ_NOT_MONITOR(uplink->state) &&
      \separated(keeper, uplink);

    predicate tcuq_keeper_apart(tcuq_keeper *keeper) =
      tcuq_keeper_apart_of(keeper, TCUQ_ROW_BYTES, keeper->size, tcuq_slots(monitor->profile),
        tcuq_cells(tcuq_slots(monitor->profile), monitor->profile->classes),
        tcuq_cells(tcuq_slots(monitor->profile), monitor->profile->dimensions), tcuq_smoothed(monitor),
        monitor->profile->channel_count, tcuq_counters(monitor));

    predicate tcuq_keeper_kept{A, B}(tcuq_keeper *keeper) =
      \at(keeper->size, A) == \at(keeper->size, B) && \at(uplink->slots, A) == \at(uplink->slots, B) &&
      \at(uplink->record_bytes, A) == \at(uplink->record_bytes, B) && tcuq_sizes_kept{A, B}(\at(monitor->profile, B));

    predicate tcuq_keeper_uplink(tcuq_keeper *keeper) =
      \valid_read(keeper) && \valid_read(uplink) && \valid(uplink->state) && 2 <= uplink->slots && 2 <= uplink->pages &&
      TCUQ_RECORD_BYTES <= uplink->record_bytes <= TCUQ_SIGNED_BYTES && tcuq_row_of(uplink, TCUQ_ROW_BYTES);

    predicate tcuq_keeper_counts(tcuq_keeper *keeper) =
      tcuq_uplink_rules(uplink) && uplink->state->count <= uplink->slots && uplink->state->tries <= 16 &&
      uplink->state->writes <= TCUQ_UPLINK_MAX_WRITES;

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

/* Of a function that restores: what it needs is there again, for the next one. */
#define TCUQ_KEEPER_STAYS \
    ensures tcuq_keeper_kept{Old, Here}(keeper); \
    ensures tcuq_keeper_uplink(keeper); \
    ensures tcuq_keeper_counts(keeper); \
    ensures tcuq_keeper_apart(keeper); \
    ensures tcuq_keeper_tables(keeper); \
    ensures tcuq_keeper_calls(keeper); \
    ensures tcuq_given(monitor); \
    ensures tcuq_limits_ok(monitor->profile); \
    ensures tcuq_state_ok(monitor); \
    ensures tcuq_keeper_terms(keeper); \
    ensures tcuq_keeper_room(keeper);

/* Whatever the page holds. */
/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_keeper_counts(keeper);
    assigns TCUQ_ROW_STATE, TCUQ_ROW;
    TCUQ_KEEPER_STAYS */
static tcuq_status tcuq_keeper_take_uplink(const tcuq_keeper *keeper, uint8_t page);

/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_keeper_counts(keeper);
    assigns TCUQ_STATE;
    TCUQ_KEEPER_STAYS */
static bool tcuq_keeper_take_monitor(const tcuq_keeper *keeper);

/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_keeper_counts(keeper);
    assigns TCUQ_ROW_STATE, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE;
    TCUQ_KEEPER_STAYS */
static bool tcuq_keeper_read(const tcuq_keeper *keeper, uint8_t page, bool restored);

/* What tcuq_keeper_read writes, by the sizes at the function's begin. */
#define TCUQ_READ_BEFORE \
    *keeper->uplink->state, \
    keeper->uplink->records[0 .. \at(tcuq_cells(keeper->uplink->slots, keeper->uplink->record_bytes), Pre) - 1], \
    keeper->buffer[0 .. \at(keeper->size, Pre) - 1], \
    *keeper->monitor->core, \
    keeper->monitor->slots[0 .. \at(tcuq_slots(keeper->monitor->profile), Pre) - 1], \
    keeper->monitor->posteriors[0 .. \
      \at(tcuq_cells(tcuq_slots(keeper->monitor->profile), keeper->monitor->profile->classes), Pre) - 1], \
    keeper->monitor->features[0 .. \
      \at(tcuq_cells(tcuq_slots(keeper->monitor->profile), keeper->monitor->profile->dimensions), Pre) - 1], \
    keeper->monitor->smoothed_q8[0 .. \at(tcuq_smoothed(keeper->monitor), Pre) - 1], \
    keeper->monitor->channels[0 .. \at(keeper->monitor->profile->channel_count, Pre) - 1], \
    keeper->monitor->telemetry[0 .. \at(tcuq_counters(keeper->monitor), Pre) - 1]

/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_keeper_counts(keeper);
    assigns *uplink->state, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE;
    TCUQ_KEEPER_STAYS */
static void tcuq_keeper_restore(const tcuq_keeper *keeper);

/*@ requires tcuq_keeper_ok(keeper) && tcuq_keeper_room(keeper) && tcuq_keeper_counts(keeper);
    assigns *uplink->state, *monitor->telemetry;
    ensures \result == TCUQ_OK ==> tcuq_uplink_ok(uplink) && uplink->state->phase == TCUQ_RUNNING;
    ensures uplink->state->count <= uplink->slots;
    ensures tcuq_keeper_uplink(keeper);
    ensures tcuq_keeper_apart(keeper);
    ensures tcuq_keeper_calls(keeper);
    ensures tcuq_keeper_room(keeper);
    ensures tcuq_given(monitor);
    ensures tcuq_limits_ok(monitor->profile);
    ensures tcuq_alarm_ok(monitor); */
static tcuq_status tcuq_keeper_start(const tcuq_keeper *keeper, uint32_t now_s);

/* A null is refused, and a buffer without room. What is begun can be saved, if send and mac are as tcuq_uplink_begun asks. */
/*@ requires keeper == \null || \valid_read(keeper);
    requires keeper != \null && uplink != \null && monitor != \null && keeper->read != \null &&
      keeper->write != \null ==> tcuq_keeper_ok(keeper) && (keeper->buffer == \null || \valid(TCUQ_COPY));
    assigns *uplink->state, TCUQ_ROW, *TCUQ_COPY, TCUQ_STATE, *monitor->telemetry;
    ensures \result == TCUQ_OK ==> tcuq_uplink_ok(uplink) && uplink->state->phase == TCUQ_RUNNING &&
      uplink->state->count <= uplink->slots;
    ensures \result == TCUQ_OK ==> tcuq_keeper_room(keeper) && tcuq_keeper_calls(keeper);
    ensures \result == TCUQ_OK ==> tcuq_keeper_uplink(keeper) && tcuq_keeper_apart(keeper);
    ensures \result == TCUQ_OK ==> tcuq_held(monitor) && tcuq_alarm_ok(monitor); */
tcuq_status tcuq_keeper_begin(const tcuq_keeper *keeper, uint32_t now_s);

/* What was not written is not said to be saved. */
/*@ requires tcuq_keeper_uplink(keeper) && tcuq_keeper_apart(keeper) && tcuq_keeper_calls(keeper);
    requires tcuq_held(monitor) && tcuq_keeper_room(keeper) && uplink->state->count <= uplink->slots;
    assigns uplink->state->writes, uplink->state->unsaved, uplink->state->page, uplink->state->saves, *TCUQ_COPY;
    ensures \result != TCUQ_OK ==> uplink->state->page == \old(uplink->state->page);
    ensures \result != TCUQ_OK ==> uplink->state->saves == \old(uplink->state->saves);
    ensures uplink->state->writes <= \old(uplink->state->writes); */
static tcuq_status tcuq_keeper_write(const tcuq_keeper *keeper);

/*@ requires tcuq_keeper_uplink(keeper) && tcuq_keeper_apart(keeper) && tcuq_keeper_calls(keeper);
    requires tcuq_held(monitor) && tcuq_alarm_ok(monitor) && tcuq_keeper_room(keeper) && tcuq_uplink_begun(uplink);
    assigns *uplink->state, TCUQ_ROW, *TCUQ_COPY;
    ensures uplink->state->count <= uplink->slots && uplink->state->tries <= 16; */
tcuq_status tcuq_keeper_save(const tcuq_keeper *keeper, uint32_t now_s);

#undef uplink
#undef monitor

#endif
