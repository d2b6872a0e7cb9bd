/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of time, slots and writes (docs/howto/uplink.md), stated a second time: from the state before a call to
 * what must be true after it. */
#include "uplink_case.h"

static uint32_t after_s(uint32_t left_s, uint64_t passed_s)
{
    return (left_s > passed_s) ? (uint32_t)(left_s - passed_s) : 0u;
}

/* Seconds that count: none if the clock went back. */
static uint64_t passed(const fuzz_uplink *on, const tcuq_uplink_state *before)
{
    const int64_t ahead = (int64_t)(int32_t)(on->now_s - before->clock_s);
    return (ahead > 0) ? (uint64_t)ahead : 0u;
}

/* What time alone makes of a state. */
tcuq_uplink_state model_pass(const fuzz_uplink *on, const tcuq_uplink_state *before)
{
    tcuq_uplink_state to = *before;
    const uint64_t passed_s = passed(on, before);
    const bool jump = (before->first == 1u) && (2u * passed_s >= on->uplink.first_s + 1u) &&
                      (passed_s > on->uplink.first_s / 2u);
    to.clock_s = on->now_s;
    to.wait_s = after_s(before->wait_s, passed_s);
    to.turn_s = after_s(before->turn_s, jump ? 0u : passed_s);
    to.first = jump ? 2u : before->first;
    return to;
}

void model_begun(const fuzz_uplink *on, const tcuq_uplink_state *restored)
{
    const tcuq_uplink_state *state = on->state;
    const uint32_t first_s = on->uplink.first_s;
    const uint64_t since_s = (uint32_t)(on->now_s - restored->clock_s);
    const bool young = (restored->phase == 1u) && (since_s < on->uplink.interval_s);
    const uint64_t rest_s = young ? on->uplink.interval_s - since_s : 0u;
    MUST(state->turn_s > first_s / 2u);
    MUST((state->turn_s <= first_s) || (state->turn_s == rest_s));
    MUST(state->turn_s >= rest_s);
    MUST((state->wait_s < first_s) && (state->tries == 0u));
    MUST((state->writes == 0u) && (state->first == 1u) && (state->due == 0u) && (state->phase == 2u));
    MUST((state->clock_s == on->now_s) && (state->sent == 0u) && (state->random != 0u));
    MUST((state->sequence == 0u) && (state->turn_steps == 0u) && (state->count == restored->count));
}

/* The state that making a record starts from: time has passed and perhaps an interval has ended. */
tcuq_uplink_state model_turn(const fuzz_uplink *on, const tcuq_uplink_state *before)
{
    tcuq_uplink_state to = model_pass(on, before);
    const uint64_t asked = on->uplink.least_steps;
    const uint64_t least = (asked == TCUQ_UPLINK_CLOCK_ALONE) ? 0u : asked;
    const uint64_t counted = (uint32_t)(on->telemetry.steps - before->turn_steps);
    const bool late = counted >= 4u * asked;
    to.wait_s = late ? 0u : to.wait_s;
    if (late || ((to.turn_s == 0u) && (counted >= ((before->first != 0u) ? least / 8u : least)))) {
        const uint32_t interval_s = on->uplink.interval_s;
        const uint32_t writes = before->writes + ((before->first != 0u) ? 2u : 1u);
        if (before->first != 0u) {
            MUST((on->state->turn_s >= interval_s / 2u) && (on->state->turn_s - interval_s / 2u < interval_s));
        }
        to.turn_s = (before->first != 0u) ? on->state->turn_s : interval_s;
        to.turn_steps = on->telemetry.steps;
        to.first = 0u;
        to.stepped = 0u;
        to.due = 1u;
        to.writes = (uint8_t)((writes > 4u) ? 4u : writes);
    }
    return to;
}

static bool in_row(const fuzz_uplink *on, const uint8_t *record)
{
    bool found = false;
    for (uint32_t i = 0u; i < on->state->count; i++) {
        found = found || (memcmp(&on->uplink.records[i * on->uplink.record_bytes], record,
                                 on->uplink.record_bytes) == 0);
    }
    return found;
}

/* Of each boot the first and the last record stay, but for the present boot's last, which is newer now; and while
 * slots are free every record of another epoch. */
void model_row(const fuzz_uplink *on, const uint8_t *row, const tcuq_uplink_state *before)
{
    const uint32_t bytes_each = on->uplink.record_bytes;
    for (uint32_t i = 0u; i < before->count; i++) {
        const uint8_t *slot = &row[i * bytes_each];
        const uint32_t boot = tcuq_get_32(&slot[18]);
        const bool starts = (i == 0u) || (tcuq_get_32(&slot[18] - bytes_each) != boot);
        const bool last = i + 1u == before->count;
        const bool ends = last ? (boot != before->boot) : (tcuq_get_32(&slot[18] + bytes_each) != boot);
        const bool sent = tcuq_get_32(&slot[22]) < before->sent;
        const bool newer = last && (boot == before->boot) && (tcuq_get_16(&slot[28]) == on->core.epoch) &&
                           (!sent || (tcuq_get_32(&slot[22]) != 0u));
        const bool room = before->count < on->uplink.slots;
        if ((starts || ends || room) && !newer) {
            MUST(in_row(on, slot));
        }
        if (newer) {
            const uint8_t *now = &on->uplink.records[(on->state->count - 1u) * bytes_each];
            MUST(on->state->count == before->count);
            MUST(tcuq_get_32(&now[22]) == (sent ? before->sequence : tcuq_get_32(&slot[22])));
        }
    }
}

/* A snapshot says what the state is. */
void model_snapshot(const fuzz_uplink *on, const uint8_t *snapshot)
{
    const tcuq_uplink_state *state = on->state;
    MUST((memcmp(snapshot, "TCUL", 4u) == 0) && (tcuq_get_32(&snapshot[4]) == on->size));
    MUST(tcuq_get_32(&snapshot[8]) == state->saves + 1u);
    MUST((tcuq_get_32(&snapshot[20]) == state->boot) && (tcuq_get_32(&snapshot[24]) == state->sequence));
    MUST((tcuq_get_32(&snapshot[28]) == state->clock_s) && (snapshot[33] == state->count));
    MUST(memcmp(&snapshot[34], on->uplink.records, (size_t)state->count * on->uplink.record_bytes) == 0);
}
