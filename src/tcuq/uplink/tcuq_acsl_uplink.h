/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what a sound uplink is, and what the functions of its time ask, change
 * and leave. Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_UPLINK_H
#define TCUQ_ACSL_UPLINK_H

/*@ predicate tcuq_uplink_rules(tcuq_uplink *u) =
      2 <= u->slots && 2 <= u->pages && 2 <= u->first_s && u->first_s <= u->interval_s < 0x80000000 &&
      1 <= u->resend_s <= u->longest_s && u->least_steps != 0;

    predicate tcuq_uplink_ok(tcuq_uplink *u) =
      \valid_read(u) && \valid(u->state) && \separated(u, u->state) && tcuq_uplink_rules(u) &&
      u->state->tries <= 16 && u->state->writes <= TCUQ_UPLINK_MAX_WRITES; */

#define TCUQ_UPLINK_TIMES \
    uplink->state->clock_s, uplink->state->wait_s, uplink->state->turn_s, uplink->state->first

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

#endif
