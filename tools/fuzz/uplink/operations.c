/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on the fuzzed uplink, and what must hold after each. */
#include "uplink_case.h"

#define MAX_SLOTS 5u

void op_record(fuzz_uplink *on)
{
    static uint8_t row[MAX_SLOTS * TCUQ_SIGNED_BYTES];
    const tcuq_identity identity = {.firmware = 1u, .boot = 5u, .sequence = 5u};
    const tcuq_uplink_state before = *on->state;
    memcpy(row, on->uplink.records, (size_t)on->uplink.slots * on->uplink.record_bytes);
    const tcuq_status status = tcuq_uplink_record(&on->uplink, &on->monitor, &identity, on->now_s);
    const tcuq_uplink_state *state = on->state;
    if (before.phase != 2u) { /* no boot id was left to begin with */
        MUST((status == TCUQ_ERROR_CONFIG) && (memcmp(&before, state, sizeof before) == 0));
        return;
    }
    tcuq_uplink_state to = model_turn(on, &before);
    if (status == TCUQ_OK) {
        const uint8_t *last = &on->uplink.records[(state->count - 1u) * on->uplink.record_bytes];
        MUST((state->unsaved == 1u) && (state->due == 0u) && (to.due != 0u));
        MUST(tcuq_get_32(&last[18]) == state->boot);
        MUST((tcuq_get_32(&last[22]) + 1u == state->sequence) && (tcuq_get_32(&last[32]) == on->telemetry.steps));
        MUST((state->sequence == before.sequence) || (state->sequence == before.sequence + 1u));
        MUST((before.count != 0u) || ((state->wait_s == 0u) && (state->tries == 0u)));
        model_row(on, row, &before);
        to.wait_s = (before.count == 0u) ? 0u : to.wait_s;
    } else if (status == TCUQ_NOT_DUE) {
        MUST((to.due == 0u) && (memcmp(&to, state, sizeof to) == 0));
    } else {
        MUST(to.due != 0u);
        MUST((status == TCUQ_ERROR_FULL) ? ((state->due == 2u) && (state->count == on->uplink.slots))
                                                : (state->sequence == UINT32_MAX));
        MUST((state->unsaved == before.unsaved) && (state->sequence == before.sequence));
    }
    MUST((state->wait_s == to.wait_s) && (state->turn_s == to.turn_s) && (state->first == to.first));
    MUST((state->turn_steps == to.turn_steps) && (state->writes == to.writes) && (state->stepped == to.stepped));
}

/* Writes a snapshot: whole, failing, or torn by a power cut, upon which true is returned. */
bool op_save(fuzz_uplink *on, bytes *in)
{
    const uint8_t way = take8(in) % 8u;
    const uint32_t torn = take16(in) % (on->size + 1u);
    uint8_t *snapshot = malloc(on->size);
    const bool was_unsaved = on->state->unsaved != 0u;
    const bool allowed = on->state->writes != 0u;
    MUST(tcuq_uplink_snapshot(&on->uplink, snapshot, on->size - 1u) == TCUQ_ERROR_BUFFER);
    const tcuq_status status = tcuq_uplink_snapshot(&on->uplink, snapshot, on->size);
    MUST((status == TCUQ_OK) == (was_unsaved && allowed));
    if (status != TCUQ_OK) {
        free(snapshot);
        return false;
    }
    const uint8_t page = tcuq_uplink_page(&on->uplink);
    on->snapshots++;
    model_snapshot(on, snapshot);
    MUST((page < on->uplink.pages) && (page != on->good));
    MUST((on->uplink.least_steps == TCUQ_UPLINK_CLOCK_ALONE) || (on->snapshots <= 2u + on->steps / on->uplink.least_steps));
    memcpy(on->pages[page], snapshot, (way < 5u) ? on->size : torn);
    if (memcmp(on->pages[page], snapshot, on->size) == 0) {
        on->good = page;
        on->damaged &= (uint8_t)~(1u << page);
    }
    if (way < 5u) {
        MUST(tcuq_uplink_saved(&on->uplink) == TCUQ_OK);
        MUST((on->state->page == page) && (tcuq_uplink_page(&on->uplink) != page));
    } else if ((on->good == page) && (way != 7u)) {
        on->good = NONE; /* a write that is said to fail, though it is whole: either copy may be restored */
        on->damaged |= (uint8_t)(1u << page);
    }
    MUST(tcuq_uplink_saved(&on->uplink) == ((way < 5u) ? TCUQ_ERROR_UNSAVED : TCUQ_OK) ||
         (way >= 5u));
    free(snapshot);
    return way >= 5u; /* said to be saved above, so that only a restart can follow */
}

void op_run(fuzz_uplink *on)
{
    const uint32_t sendings = on->sendings;
    const tcuq_uplink_state before = *on->state;
    tcuq_uplink_state to = model_pass(on, &before);
    const bool due = (before.unsaved == 0u) && (before.count != 0u) && (to.wait_s == 0u);
    const tcuq_status status = tcuq_uplink_run(&on->uplink, on->now_s);
    MUST((status == TCUQ_OK) == due);
    MUST(on->sendings == sendings + (due ? 1u : 0u));
    MUST((status == TCUQ_ERROR_UNSAVED) == (before.unsaved != 0u));
    MUST((on->state->turn_s == to.turn_s) && (on->state->first == to.first));
    if (due) {
        const uint64_t doubled_s = (uint64_t)on->uplink.resend_s << before.tries;
        const uint64_t base_s = (doubled_s < on->uplink.longest_s) ? doubled_s : on->uplink.longest_s;
        const uint32_t sequence = tcuq_get_32(&on->sent[22]);
        const bool present = tcuq_get_32(&on->sent[18]) == before.boot;
        check_sent(on);
        MUST(on->state->sent == ((present && (sequence >= before.sent)) ? sequence + 1u : before.sent));
        MUST((on->state->wait_s >= 1u) && (on->state->wait_s >= base_s / 2u) &&
             (2u * (uint64_t)on->state->wait_s <= 3u * base_s + 2u));
        MUST(tcuq_uplink_run(&on->uplink, on->now_s) == TCUQ_NOT_DUE);
    } else {
        MUST(memcmp(&to, on->state, sizeof to) == 0);
    }
}

/* An acknowledgement: of what was sent, of anything near it, or of anything at all. */
void op_stored(fuzz_uplink *on, bytes *in)
{
    uint8_t ack[TCUQ_SIGNED_ACK_BYTES + 1u];
    const uint8_t way = take8(in);
    const bool is_signed = on->uplink.mac != NULL;
    const uint32_t size = is_signed ? TCUQ_SIGNED_ACK_BYTES : TCUQ_ACK_BYTES;
    const uint32_t boot = ((way & 1u) != 0u) ? tcuq_get_32(&on->sent[18]) : on->state->boot + (take32(in) >> (way >> 3));
    const uint32_t sequence = ((way & 2u) != 0u) ? tcuq_get_32(&on->sent[22]) : take32(in) >> (way >> 3);
    tcuq_put_32(ack, (uint32_t)on->uplink.device);
    tcuq_put_32(&ack[4], (uint32_t)(on->uplink.device >> 32));
    tcuq_put_32(&ack[8], boot);
    tcuq_put_32(&ack[12], sequence);
    ack[16] = on->uplink.key;
    mac(NULL, ack, 17u, &ack[17]);
    const tcuq_uplink_state before = *on->state;
    MUST(tcuq_uplink_stored(&on->uplink, ack, size - 1u, on->now_s) == TCUQ_ERROR_BUFFER);
    MUST(tcuq_uplink_stored(&on->uplink, ack, is_signed ? 16u : 29u, on->now_s) == TCUQ_ERROR_BUFFER);
    if ((way & 4u) != 0u) {
        const uint8_t bit = take8(in);
        const uint32_t at = bit % (is_signed ? size : 8u);
        ack[at] ^= (uint8_t)(1u << (bit >> 5));
        const tcuq_status refused = tcuq_uplink_stored(&on->uplink, ack, size, on->now_s);
        MUST(refused == ((at < 8u) ? TCUQ_ERROR_FOREIGN : TCUQ_ERROR_FORGED));
        MUST(memcmp(&before, on->state, sizeof before) == 0);
        ack[at] ^= (uint8_t)(1u << (bit >> 5));
    }
    const tcuq_status status = tcuq_uplink_stored(&on->uplink, ack, size, on->now_s);
    const bool known = (boot < before.boot) || ((boot == before.boot) && (sequence < before.sent));
    MUST(known == (status == TCUQ_OK));
    if (known) {
        MUST((on->state->count == before.count) || ((on->state->wait_s == 0u) && (on->state->tries == 0u)));
        MUST(on->state->due == (((before.due == 2u) && (on->state->count != before.count)) ? 1u : before.due));
        MUST((on->state->boot == before.boot) && (on->state->count <= before.count));
        MUST((on->state->count == 0u) || (tcuq_get_32(&on->uplink.records[18]) > boot) ||
             ((tcuq_get_32(&on->uplink.records[18]) == boot) && (tcuq_get_32(&on->uplink.records[22]) > sequence)));
    } else if (status == TCUQ_NEW_BOOT) {
        const uint32_t moved = on->state->boot - before.boot;
        on->moves++;
        MUST((on->state->due == 1u) && (on->state->stepped == 1u) && (on->state->sent == 0u));
        MUST(is_signed || (before.stepped == 0u));
        MUST((on->state->count == 0u) && (on->state->sequence == 0u) && (on->state->boot > before.boot));
        MUST(is_signed ? (on->state->boot == boot + 1u) : (moved <= 4096u));
        MUST(is_signed || (moved == 4096u) || (on->state->boot == boot + 1u));
        MUST(is_signed || (on->uplink.least_steps == TCUQ_UPLINK_CLOCK_ALONE) ||
             (on->moves <= 2u + on->steps / on->uplink.least_steps));
    } else {
        MUST((status == TCUQ_NOT_DUE) || (status == TCUQ_ERROR_EXHAUSTED));
        MUST(on->state->boot == before.boot);
        MUST(status == TCUQ_NOT_DUE || is_signed || before.boot > UINT32_MAX - 4097u);
    }
}

/* Reads the pages in some order, one of them perhaps damaged, under a true checksum or not. */
void op_restart(fuzz_uplink *on, bytes *in)
{
    const uint8_t way = take8(in);
    const uint8_t first = take8(in) % on->uplink.pages;
    if ((way & 7u) == 0u) {
        uint8_t *page = on->pages[way >> 6];
        if ((way >> 6) < on->uplink.pages) {
            page[take16(in) % on->size] ^= take8(in);
            if ((way & 8u) != 0u) {
                tcuq_put_32(&page[on->size - 4u], tcuq_crc32(page, on->size - 4u));
            }
            on->damaged |= (uint8_t)(1u << (way >> 6));
            on->good = NONE;
        }
    }
    memset(on->state, way, sizeof *on->state);
    MUST(tcuq_uplink_init(&on->uplink) == TCUQ_OK);
    for (uint8_t i = 0u; i < on->uplink.pages; i++) {
        const uint8_t page = (uint8_t)((first + i) % on->uplink.pages);
        const tcuq_uplink_state before = *on->state;
        const tcuq_status status = tcuq_uplink_restore(&on->uplink, page, on->pages[page], on->size);
        MUST((status == TCUQ_OK) || (memcmp(&before, on->state, sizeof before) == 0));
        MUST((status != TCUQ_OK) || (on->state->page == page));
        check_row(on);
    }
    /* A torn write can mend a damaged page, which then is the newest again, until a whole one replaces it. */
    MUST((on->good == NONE) || (on->damaged != 0u) || (on->state->page == on->good));
    on->good = (on->state->phase == 1u) ? on->state->page : NONE;
    const tcuq_uplink_state restored = *on->state;
    const uint32_t boot = on->state->boot;
    const bool used = on->state->sequence != 0u;
    MUST((restored.phase == 0u) || (restored.sent == restored.sequence));
    const tcuq_status begun = tcuq_uplink_begin(&on->uplink, &on->monitor, on->now_s);
    MUST((begun == TCUQ_OK) || (on->state->boot == UINT32_MAX));
    MUST((begun != TCUQ_OK) || (on->state->boot == boot + (used ? 1u : 0u)));
    MUST(tcuq_uplink_restore(&on->uplink, 0u, on->pages[0], on->size) == TCUQ_ERROR_CONFIG ||
         (begun != TCUQ_OK));
    if (begun == TCUQ_OK) {
        model_begun(on, &restored);
        MUST(on->telemetry.steps == 0u);
    }
    on->steps = 0u;
    on->snapshots = 0u;
    on->moves = 0u;
    on->telemetry.steps = 0u;
}
