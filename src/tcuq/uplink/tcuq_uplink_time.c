/* SPDX-License-Identifier: Apache-2.0 */
/* Uplink: time as what passes between two calls, so that a clock may be set forward or back. */
#include "tcuq_uplink_internal.h"

/* A device's number, mixed: consecutive ids get unrelated times. */
/*@ assigns \nothing; */
static uint32_t tcuq_device_hash(uint64_t device)
{
    uint32_t mixed = (uint32_t)device ^ ((uint32_t)(device >> 32) * 0x9E3779B1u);
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6Bu;
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35u;
    return mixed ^ (mixed >> 16);
}

uint32_t tcuq_place_s(const tcuq_uplink *uplink, uint32_t interval_s)
{
    return tcuq_device_hash(uplink->device) % interval_s;
}

/*@ assigns \nothing; ensures \result <= wait_s && (passed_s == 0 ==> \result == wait_s); */
static uint32_t tcuq_left(uint32_t wait_s, uint32_t passed_s)
{
    return (passed_s >= wait_s) ? 0u : wait_s - passed_s;
}

void tcuq_send_now(tcuq_uplink_state *state)
{
    state->wait_s = 0u;
    state->tries = 0u;
}

/* After a restart the first record is made when the device has run for more than half of first_s, or later if a
 * clock that kept running says that the last one is younger than an interval. Records from before the restart
 * are sent spread over first_s, as many devices may have been without power together. */
void tcuq_time_begin(const tcuq_uplink *uplink, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    const uint32_t half_s = (uint32_t)uplink->first_s / 2u;
    const uint32_t since_s = now_s - state->clock_s; /* the last snapshot */
    uint32_t turn_s = half_s + 1u + tcuq_place_s(uplink, (uint32_t)uplink->first_s - half_s);
    if ((state->phase == TCUQ_RESTORED) && (since_s < uplink->interval_s)) {
        const uint32_t rest_s = uplink->interval_s - since_s;
        turn_s = (rest_s > turn_s) ? rest_s : turn_s;
    }
    state->clock_s = now_s;
    state->turn_s = turn_s;
    state->wait_s = tcuq_place_s(uplink, uplink->first_s);
    state->tries = 0u;
    state->writes = 0u;
    state->first = 1u;
    state->due = TCUQ_LATER;
    state->phase = TCUQ_RUNNING;
}

void tcuq_time_pass(const tcuq_uplink *uplink, uint32_t now_s)
{
    tcuq_uplink_state *state = uplink->state;
    uint32_t passed_s = now_s - state->clock_s;
    if (passed_s >= TCUQ_CLOCK_BACK) {
        passed_s = 0u;
    }
    state->clock_s = now_s;
    state->wait_s = tcuq_left(state->wait_s, passed_s);
    if ((state->first == 1u) && (passed_s > ((uint32_t)uplink->first_s / 2u))) {
        passed_s = 0u; /* perhaps the clock was set, which alone must not bring a record at each restart */
        state->first = 2u;
    }
    state->turn_s = tcuq_left(state->turn_s, passed_s);
}

/* A boot's first interval may be an eighth as long as others, so it asks for an eighth of the steps. It brings a
 * second write, for a first one that fails or is followed by NEW_BOOT. */
void tcuq_time_turn(const tcuq_uplink *uplink, uint32_t steps)
{
    tcuq_uplink_state *state = uplink->state;
    const bool first = state->first != 0u;
    const uint32_t counted = steps - state->turn_steps;
    const uint32_t asked = (uplink->least_steps == TCUQ_UPLINK_CLOCK_ALONE) ? 0u : uplink->least_steps;
    const uint32_t least = first ? (asked / 8u) : asked;
    const bool late = (counted / TCUQ_UPLINK_LATE) >= uplink->least_steps;
    if (late) {
        state->wait_s = 0u; /* the clock stands still: waiting for it would not end */
    }
    if (late || ((state->turn_s == 0u) && (counted >= least))) {
        const uint32_t writes = (uint32_t)state->writes + (first ? 2u : 1u);
        /* The second record comes at the device's own place in the interval, the others one interval apart. */
        state->turn_s = first ? (uplink->interval_s / 2u) + tcuq_place_s(uplink, uplink->interval_s)
                              : uplink->interval_s;
        state->turn_steps = steps;
        state->first = 0u;
        state->stepped = 0u;
        state->due = TCUQ_DUE;
        state->writes = (uint8_t)((writes < TCUQ_UPLINK_MAX_WRITES) ? writes : TCUQ_UPLINK_MAX_WRITES);
    }
}

/* Waits between half and one and a half times resend_s, twice as long at each try. Products fit: each
 * factor is below 2^16. */
void tcuq_back_off(const tcuq_uplink *uplink)
{
    tcuq_uplink_state *state = uplink->state;
    uint32_t base_s = (uint32_t)uplink->resend_s << state->tries;
    if (base_s < uplink->longest_s) {
        state->tries++; /* at most 16: then base_s is beyond longest_s */
    } else {
        base_s = uplink->longest_s;
    }
    state->random ^= state->random << 13;
    state->random ^= state->random >> 17;
    state->random ^= state->random << 5;
    //@ assert base_s <= 65535 && 0 <= (state->random >> 16) <= 65535;
    //@ assert 0 <= base_s * (uint32_t)(state->random >> 16) <= 65535 * 65535;
    const uint32_t wait_s = (base_s >> 1) + ((base_s * (state->random >> 16)) >> 16);
    state->wait_s = (wait_s == 0u) ? 1u : wait_s;
}

uint32_t tcuq_uplink_wait_s(const tcuq_uplink *uplink, uint32_t now_s)
{
    const tcuq_uplink_state *state = uplink->state;
    const uint32_t since_s = now_s - state->clock_s;
    const uint32_t passed_s = (since_s < TCUQ_CLOCK_BACK) ? since_s : 0u;
    const bool writes = (state->unsaved != TCUQ_SAVED) && (state->writes != 0u);
    if ((state->due == TCUQ_DUE) || writes) {
        return 0u;
    }
    uint32_t left_s = tcuq_left(state->turn_s, passed_s);
    if (left_s == 0u) {
        left_s = (state->turn_s == 0u) ? uplink->resend_s : 0u; /* 0 before: too few steps were counted */
    }
    if ((state->count != 0u) && (state->unsaved == TCUQ_SAVED)) {
        const uint32_t send_s = tcuq_left(state->wait_s, passed_s);
        left_s = (send_s < left_s) ? send_s : left_s;
    }
    return left_s;
}
