/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what sound slots are, and what their functions ask, change and leave.
 * Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_SLOTS_H
#define TCUQ_ACSL_SLOTS_H

#include "tcuq_acsl_blob.h"

/* Stand for the caller's functions: none touches the slots' state. Of what tcuq_any_read brings into the slots
 * nothing is known, and nothing is said below. */
/*@ requires page <= 1 && \valid_read(bytes + (0 .. size - 1)); assigns \nothing; */
bool tcuq_any_write(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

/*@ requires slot <= 1; assigns \nothing; */
bool tcuq_any_read(void *context, uint8_t slot);

/*@ requires \valid(number); assigns *number; */
bool tcuq_any_count(void *context, uint32_t *number);

/*@ assigns \nothing; */
bool tcuq_any_raise(void *context, uint32_t number);

/* Whatever flash holds: places below are never beyond the arrays. */
/*@ predicate tcuq_state_sound(tcuq_slots_state *s) =
      s->active <= TCUQ_SLOTS_BUILT_IN && s->before <= TCUQ_SLOTS_BUILT_IN && s->running <= TCUQ_SLOTS_BUILT_IN &&
      s->page <= 1;

    predicate tcuq_pages_given(tcuq_slots *s) =
      \valid_read(s->pages[0] + (0 .. TCUQ_SLOTS_BYTES - 1)) && \valid_read(s->pages[1] + (0 .. TCUQ_SLOTS_BYTES - 1)) &&
      \separated(s->state, s->pages[0] + (0 .. TCUQ_SLOTS_BYTES - 1)) &&
      \separated(s->state, s->pages[1] + (0 .. TCUQ_SLOTS_BYTES - 1));

    predicate tcuq_callers_given(tcuq_slots *s) =
      s->write == &tcuq_any_write && (s->mac == \null || s->mac == &tcuq_any_mac) &&
      (s->read == \null || s->read == &tcuq_any_read) && s->loader.verify == &tcuq_any_verify &&
      (s->loader.clock == \null || s->loader.clock == &tcuq_any_clock) &&
      (s->counter == \null || (\valid_read(s->counter) && \separated(s->state, s->counter) &&
        s->counter->read == &tcuq_any_count && s->counter->raise == &tcuq_any_raise));

    predicate tcuq_slots_given(tcuq_slots *s) =
      \valid_read(s) && \valid(s->state) && \separated(s, s->state) && tcuq_pages_given(s) && tcuq_callers_given(s) &&
      (s->loader.room == \null || \valid_read(s->loader.room)) && TCUQ_BLOB_HEAD_BYTES <= s->slot_bytes &&
      \valid_read(s->slots[0] + (0 .. s->slot_bytes - 1)) && \valid_read(s->slots[1] + (0 .. s->slot_bytes - 1));

    predicate tcuq_slots_ready(tcuq_slots *s) = tcuq_slots_given(s) && tcuq_state_sound(s->state); */

/*@ requires slots->mac == \null || slots->mac == &tcuq_any_mac;
    requires \valid_read(slots) && \valid_read(bytes + (0 .. 23)) && \valid(seal + (0 .. 11));
    requires \separated(bytes + (0 .. 23), seal + (0 .. 11)) && \separated(slots, seal + (0 .. 11));
    assigns seal[0 .. 11]; */
static void tcuq_switch_seal(const tcuq_slots *slots, const uint8_t *bytes, uint8_t *seal);

/*@ requires \valid(state) && \valid_read(at + (0 .. TCUQ_SLOTS_BYTES - 1));
    requires \separated(state, at + (0 .. TCUQ_SLOTS_BYTES - 1));
    assigns *state;
    ensures state->active == at[20] && state->before == at[21] && state->left == at[22];
    ensures state->page == \old(state->page) && state->running == \old(state->running); */
static void tcuq_switch_read(tcuq_slots_state *state, const uint8_t *at);

/*@ requires \valid_read(slots) && (slots->mac == \null || slots->mac == &tcuq_any_mac);
    requires \valid_read(at + (0 .. TCUQ_SLOTS_BYTES - 1));
    assigns \nothing;
    ensures \result ==> at[20] <= TCUQ_SLOTS_BUILT_IN && at[21] <= TCUQ_SLOTS_BUILT_IN; */
static bool tcuq_switch_whole(const tcuq_slots *slots, const uint8_t *at);

/*@ requires tcuq_slots_given(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state) && slots->state->running == TCUQ_SLOTS_BUILT_IN; */
void tcuq_switch_find(const tcuq_slots *slots);

#define TCUQ_SWITCH_IS(a, b) \
    (a.active == b.active && a.before == b.before && a.left == b.left && a.highest == b.highest && \
     a.numbers[0] == b.numbers[0] && a.numbers[1] == b.numbers[1])

/*@ requires \valid(to) && \valid_read(from) && \separated(to, from);
    assigns *to;
    ensures TCUQ_SWITCH_IS((*to), (*from)) && to->saves == from->saves && to->page == from->page &&
      to->running == from->running; */
void tcuq_switch_copy(tcuq_slots_state *to, const tcuq_slots_state *from);

/*@ requires \valid_read(slots) && (slots->mac == \null || slots->mac == &tcuq_any_mac) && \valid_read(next);
    requires \valid(bytes + (0 .. TCUQ_SLOTS_BYTES - 1));
    requires \separated(bytes + (0 .. TCUQ_SLOTS_BYTES - 1), slots, next);
    assigns bytes[0 .. TCUQ_SLOTS_BYTES - 1]; */
static void tcuq_switch_fill(const tcuq_slots *slots, const tcuq_slots_state *next, uint32_t saves, uint8_t *bytes);

/* Flash and state go together: both as given, or both as they were. */
/*@ requires tcuq_slots_ready(slots) && \valid_read(next) && \separated(next, slots, slots->state);
    requires next->active <= TCUQ_SLOTS_BUILT_IN && next->before <= TCUQ_SLOTS_BUILT_IN;
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state) && slots->state->running == \old(slots->state->running);
    ensures \result ==> TCUQ_SWITCH_IS((*slots->state), (*next)) && slots->state->page == 1 - \old(slots->state->page);
    ensures !\result ==> TCUQ_SWITCH_IS((*slots->state), \old(*slots->state)) &&
      slots->state->page == \old(slots->state->page) && slots->state->saves == \old(slots->state->saves); */
bool tcuq_switch_write(const tcuq_slots *slots, const tcuq_slots_state *next);

/*@ requires tcuq_slots_given(slots) && \valid(least) && \separated(least, slots, slots->state);
    assigns *least;
    ensures \result == TCUQ_OK || \result == TCUQ_ERROR_BUSY;
    ensures \result == TCUQ_OK ==> *least >= slots->first_number; */
static tcuq_status tcuq_slots_least(const tcuq_slots *slots, uint32_t *least);

/*@ requires tcuq_slots_given(slots) && slot <= 1;
    assigns \nothing; */
static tcuq_status tcuq_slot_check(const tcuq_slots *slots, uint8_t slot);

/*@ requires tcuq_slots_ready(slots) && slot <= TCUQ_SLOTS_BUILT_IN;
    assigns \nothing;
    ensures slot == TCUQ_SLOTS_BUILT_IN ==> \result == TCUQ_OK; */
static tcuq_status tcuq_slot_permitted(const tcuq_slots *slots, uint8_t slot);

/* Not read: it changes the room's profile and the monitor, which no contract here speaks of. */
/*@ requires tcuq_slots_ready(slots) && slot <= TCUQ_SLOTS_BUILT_IN;
    assigns \nothing; */
static tcuq_status tcuq_slot_load(tcuq_slots *slots, tcuq_monitor *monitor, uint8_t slot);

/*@ requires tcuq_slots_ready(slots) && slot <= TCUQ_SLOTS_BUILT_IN;
    assigns slots->state->running;
    ensures tcuq_state_sound(slots->state);
    ensures \result == TCUQ_OK ==> slots->state->running == slot;
    ensures \result != TCUQ_OK ==> slots->state->running == \old(slots->state->running); */
static tcuq_status tcuq_slot_run(tcuq_slots *slots, tcuq_monitor *monitor, uint8_t slot);

/* On trial one restart less is left, in flash too, or it is not to be tried. */
/*@ requires tcuq_slots_ready(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state) && slots->state->active == \old(slots->state->active);
    ensures slots->state->before == \old(slots->state->before) && slots->state->running == \old(slots->state->running);
    ensures \result == TCUQ_OK ==> \old(slots->state->left) == 0 || slots->state->left == \old(slots->state->left) - 1;
    ensures \result == TCUQ_OK && \old(slots->state->left) != 0 ==> slots->state->left != 0;
    ensures \result != TCUQ_OK ==> slots->state->left == \old(slots->state->left); */
static tcuq_status tcuq_slots_count(const tcuq_slots *slots);

/*@ requires tcuq_slots_ready(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state); */
static void tcuq_slots_fall_back(tcuq_slots *slots, tcuq_monitor *monitor);

/*@ requires tcuq_slots_given(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state);
    ensures \result == TCUQ_OK ==> slots->state->running == slots->state->active; */
tcuq_status tcuq_slots_start(tcuq_slots *slots, tcuq_monitor *monitor);

/* Never the slot that runs or is to run. */
/*@ requires tcuq_slots_ready(slots);
    assigns \nothing;
    ensures \result <= TCUQ_SLOTS_BUILT_IN;
    ensures \result != TCUQ_SLOTS_BUILT_IN ==> \result != slots->state->active && \result != slots->state->running &&
      slots->state->left == 0; */
uint8_t tcuq_slots_spare(const tcuq_slots *slots);

/* A number is used by its first activation; without one nothing is. */
/*@ requires tcuq_slots_ready(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state);
    ensures \result == TCUQ_OK ==> slots->state->highest > \old(slots->state->highest) && slots->state->left != 0 &&
      slots->state->running == slots->state->active && slots->state->before == \old(slots->state->active);
    ensures \result != TCUQ_OK ==> slots->state->highest == \old(slots->state->highest) &&
      slots->state->active == \old(slots->state->active) && slots->state->left == \old(slots->state->left); */
tcuq_status tcuq_slots_activate(tcuq_slots *slots, tcuq_monitor *monitor);

/*@ requires \valid_read(slots) && tcuq_callers_given(slots) && slots->counter != \null;
    assigns \nothing;
    ensures \result == TCUQ_OK || \result == TCUQ_ERROR_BUSY; */
static tcuq_status tcuq_slots_raise(const tcuq_slots *slots, uint32_t number);

/*@ requires tcuq_slots_ready(slots);
    assigns *slots->state;
    ensures tcuq_state_sound(slots->state) && slots->state->active == \old(slots->state->active);
    ensures \result == TCUQ_OK ==> slots->state->left == 0 && slots->state->running == slots->state->active; */
tcuq_status tcuq_slots_confirm(tcuq_slots *slots);

#endif
