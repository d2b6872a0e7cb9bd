/* SPDX-License-Identifier: Apache-2.0 */
/* The switch between two slots, and its way through power cuts.
 *
 * Little-endian: "TCUS", times it was written, highest number, numbers of both slots, active, before, restarts left,
 * 0; then the seal of all before it: a tag, or a CRC-32 and zeros. */
#include "tcuq_switch.h"

#define TCUQ_SWITCH_MAGIC 0x53554354u /* "TCUS" */
#define TCUQ_SWITCH_SEALED 24u        /* bytes before the seal */

static void tcuq_switch_seal(const tcuq_slots *slots, const uint8_t *bytes, uint8_t *seal)
{
    if (slots->mac != NULL) {
        //@ calls tcuq_any_mac;
        slots->mac(slots->mac_context, bytes, TCUQ_SWITCH_SEALED, seal);
    } else {
        tcuq_put_32(seal, tcuq_crc32(bytes, TCUQ_SWITCH_SEALED));
        tcuq_put_32(&seal[4], 0u);
        tcuq_put_32(&seal[8], 0u);
    }
}

static void tcuq_switch_read(tcuq_slots_state *state, const uint8_t *at)
{
    state->saves = tcuq_get_32(&at[4]);
    state->highest = tcuq_get_32(&at[8]);
    state->numbers[0] = tcuq_get_32(&at[12]);
    state->numbers[1] = tcuq_get_32(&at[16]);
    state->active = at[20];
    state->before = at[21];
    state->left = at[22];
}

/* Whether a page holds a whole switch whose values tcuq_switch_write could have written. */
static bool tcuq_switch_whole(const tcuq_slots *slots, const uint8_t *at)
{
    uint8_t seal[TCUQ_TAG_BYTES];
    tcuq_switch_seal(slots, at, seal);
    return tcuq_tags_equal(seal, &at[TCUQ_SWITCH_SEALED]) && (tcuq_get_32(at) == TCUQ_SWITCH_MAGIC) &&
           (at[20] <= TCUQ_SLOTS_BUILT_IN) && (at[21] <= TCUQ_SLOTS_BUILT_IN) && (at[23] == 0u);
}

void tcuq_switch_find(const tcuq_slots *slots)
{
    tcuq_slots_state *state = slots->state;
    bool found = false;
    state->saves = 0u;
    state->highest = 0u;
    state->numbers[0] = 0u;
    state->numbers[1] = 0u;
    state->active = TCUQ_SLOTS_BUILT_IN;
    state->before = TCUQ_SLOTS_BUILT_IN;
    state->left = 0u;
    state->page = 1u;
    state->running = TCUQ_SLOTS_BUILT_IN;
    /*@ loop invariant page <= 2 && tcuq_state_sound(state) && state->running == TCUQ_SLOTS_BUILT_IN;
        loop assigns page, found, *state;
        loop variant 2 - page; */
    for (uint8_t page = 0u; page < 2u; page++) {
        const uint8_t *at = slots->pages[page];
        //@ assert at == slots->pages[0] || at == slots->pages[1];
        if (tcuq_switch_whole(slots, at) &&
            (!found || ((tcuq_get_32(&at[4]) - state->saves) < 0x80000000u))) { /* the number may have wrapped */
            tcuq_switch_read(state, at);
            state->page = page;
            found = true;
        }
    }
}

void tcuq_switch_copy(tcuq_slots_state *to, const tcuq_slots_state *from)
{
    to->saves = from->saves;
    to->highest = from->highest;
    to->numbers[0] = from->numbers[0];
    to->numbers[1] = from->numbers[1];
    to->active = from->active;
    to->before = from->before;
    to->left = from->left;
    to->page = from->page;
    to->running = from->running;
}

/* The bytes of a switch of these values, sealed. */
static void tcuq_switch_fill(const tcuq_slots *slots, const tcuq_slots_state *next, uint32_t saves, uint8_t *bytes)
{
    tcuq_put_32(bytes, TCUQ_SWITCH_MAGIC);
    tcuq_put_32(&bytes[4], saves);
    tcuq_put_32(&bytes[8], next->highest);
    tcuq_put_32(&bytes[12], next->numbers[0]);
    tcuq_put_32(&bytes[16], next->numbers[1]);
    bytes[20] = next->active;
    bytes[21] = next->before;
    bytes[22] = next->left;
    bytes[23] = 0u;
    tcuq_switch_seal(slots, bytes, &bytes[TCUQ_SWITCH_SEALED]);
}

/* One write: the newest switch stays whole in the other page until this one is. */
bool tcuq_switch_write(const tcuq_slots *slots, const tcuq_slots_state *next)
{
    tcuq_slots_state *state = slots->state;
    const uint8_t page = (state->page == 0u) ? 1u : 0u;
    const uint32_t saves = state->saves + 1u;
    uint8_t bytes[TCUQ_SLOTS_BYTES];
    tcuq_switch_fill(slots, next, saves, bytes);
    //@ assert slots->state == state && slots->write == &tcuq_any_write;
    //@ assert TCUQ_SWITCH_IS((*state), \at(*slots->state, Pre)) && state->saves == \at(slots->state->saves, Pre);
    //@ assert state->page == \at(slots->state->page, Pre) && state->running == \at(slots->state->running, Pre);
    //@ assert tcuq_state_sound(state);
    //@ assert TCUQ_SWITCH_IS((*next), \at(*next, Pre));
    bool written = false;
    //@ calls tcuq_any_write;
    written = slots->write(slots->write_context, page, bytes, TCUQ_SLOTS_BYTES);
    if (written) {
        const uint8_t running = state->running;
        tcuq_switch_copy(state, next);
        //@ assert slots->state == state && TCUQ_SWITCH_IS((*state), (*next));
        state->saves = saves;
        state->page = page;
        state->running = running;
    }
    return written;
}
