/* SPDX-License-Identifier: Apache-2.0 */
/* What the uplink promises, stated a second time. */
#include "uplink_case.h"

/* The rules of a configuration, stated a second time. */
bool follows_rules(const tcuq_uplink *of)
{
    const uint32_t bytes = (of->mac == NULL) ? 97u : 106u;
    return (of->slots > 1u) && (of->pages > 1u) && (of->record_bytes == bytes) && (of->first_s > 1u) &&
           (of->first_s <= of->interval_s) && (of->interval_s <= INT32_MAX) && (of->resend_s != 0u) &&
           (of->resend_s <= of->longest_s) && (of->least_steps != 0u);
}

/* The row stands in order, is of this device, and ends before the next record. */
void check_row(const fuzz_uplink *on)
{
    const tcuq_uplink_state *state = on->state;
    MUST(state->count <= on->uplink.slots);
    MUST((state->page < on->uplink.pages) && (state->writes <= TCUQ_UPLINK_MAX_WRITES));
    for (uint32_t i = 0u; i < state->count; i++) {
        const uint8_t *slot = &on->uplink.records[i * on->uplink.record_bytes];
        const uint32_t boot = tcuq_get_32(&slot[18]);
        const uint32_t sequence = tcuq_get_32(&slot[22]);
        MUST(slot[0] == ((on->uplink.mac == NULL) ? 3u : 4u));
        MUST(tcuq_get_32(&slot[2]) == (uint32_t)on->uplink.device);
        MUST((boot < state->boot) || ((boot == state->boot) && (sequence < state->sequence)));
        if (i != 0u) {
            const uint8_t *before = slot - on->uplink.record_bytes;
            MUST((boot > tcuq_get_32(&before[18])) ||
                 ((boot == tcuq_get_32(&before[18])) && (sequence > tcuq_get_32(&before[22]))));
        }
    }
}

/* What is sent stands whole in the newest page: a power cut cannot make the device forget it. */
void check_sent(const fuzz_uplink *on)
{
    bool found = on->damaged != 0u;
    MUST(on->good != NONE);
    for (uint32_t i = 0u; !found && (i < on->uplink.slots); i++) {
        const uint8_t *slot = &on->pages[on->good][TCUQ_UPLINK_HEAD_BYTES + i * on->uplink.record_bytes];
        found = memcmp(slot, on->sent, on->uplink.record_bytes) == 0;
    }
    MUST(found);
}

void check_wait(const fuzz_uplink *on)
{
    const tcuq_uplink_state before = *on->state;
    const uint32_t wait_s = tcuq_uplink_wait_s(&on->uplink, on->now_s);
    MUST(memcmp(&before, on->state, sizeof before) == 0);
    MUST((before.clock_s != on->now_s) || (tcuq_uplink_wait_s(&on->uplink, on->now_s - 9u) == wait_s));
    MUST(tcuq_uplink_wait_s(&on->uplink, on->now_s + 9u) <= wait_s);
    if ((wait_s != 0u) && (before.phase == 2u)) {
        MUST((before.due != 1u) && ((before.unsaved == 0u) || (before.writes == 0u)));
        MUST((before.count == 0u) || (before.unsaved != 0u) || (before.wait_s != 0u));
        MUST(wait_s <= on->uplink.interval_s + on->uplink.interval_s / 2u || wait_s <= on->uplink.resend_s);
    }
}
