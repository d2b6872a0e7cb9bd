/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper over the fuzzed uplink's configuration: what it refuses, reads and writes, and what is restored. */
#include "uplink_case.h"

typedef struct {
    uint8_t *pages[MAX_PAGES];
    uint32_t size;
    uint32_t reads;
    uint32_t writes;
    uint8_t last; /* page that was written last */
    bool works;
} flash_pages;

static bool read_page(void *context, uint8_t page, uint8_t *bytes, uint32_t size)
{
    flash_pages *of = context;
    MUST((page < MAX_PAGES) && (size == of->size));
    memcpy(bytes, of->pages[page], size);
    of->reads++;
    return of->works;
}

static bool write_page(void *context, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    flash_pages *of = context;
    MUST((page < MAX_PAGES) && (size == of->size));
    memcpy(of->pages[page], bytes, of->works ? size : size / 3u);
    of->last = page;
    of->writes++;
    return of->works;
}

static void check_keeper_refusals(const tcuq_keeper *keeper, const fuzz_uplink *on)
{
    const flash_pages *flash = keeper->context;
    const tcuq_uplink_state before = *on->state;
    tcuq_keeper without[5] = {*keeper, *keeper, *keeper, *keeper, *keeper};
    without[0].uplink = NULL;
    without[1].monitor = NULL;
    without[2].read = NULL;
    without[3].write = NULL;
    without[4].buffer = NULL;
    MUST(tcuq_keeper_begin(NULL, 0u) == TCUQ_ERROR_NULL);
    for (uint32_t i = 0u; i < 5u; i++) {
        MUST(tcuq_keeper_begin(&without[i], 0u) == ((i == 4u) ? TCUQ_ERROR_BUFFER : TCUQ_ERROR_NULL));
    }
    tcuq_keeper wrong = *keeper;
    tcuq_uplink silent = on->uplink;
    wrong.size--;
    MUST(tcuq_keeper_begin(&wrong, 0u) == TCUQ_ERROR_BUFFER);
    silent.send = NULL;
    wrong = *keeper;
    wrong.uplink = &silent;
    MUST(tcuq_keeper_begin(&wrong, 0u) == TCUQ_ERROR_CONFIG);
    MUST((memcmp(&before, on->state, sizeof before) == 0) && (flash->reads == 0u));
}

static void begin(const tcuq_keeper *keeper, fuzz_uplink *on)
{
    flash_pages *flash = keeper->context;
    tcuq_reset(&on->monitor);
    flash->reads = 0u;
    MUST(tcuq_keeper_begin(keeper, on->now_s) == TCUQ_OK);
    MUST((flash->reads == on->uplink.pages) && (on->telemetry.steps == 0u));
}

/* The next record, of an epoch of its own. */
static tcuq_status next_record(const tcuq_keeper *keeper, fuzz_uplink *on)
{
    const uint32_t sequence = on->state->sequence;
    tcuq_status status = TCUQ_NOT_DUE;
    on->core.epoch++;
    on->telemetry.steps += 1000u;
    while ((status == TCUQ_NOT_DUE) && (on->state->sequence == sequence)) {
        on->now_s += on->uplink.first_s / 2u;
        on->telemetry.steps++;
        status = tcuq_keeper_save(keeper, on->now_s);
    }
    return status;
}

/* One record for each page and one more, then a restart with whole pages, with a damaged monitor, and with none. */
static void check_restored(const tcuq_keeper *keeper, fuzz_uplink *on)
{
    flash_pages *flash = keeper->context;
    const uint32_t records = on->uplink.pages + 1u;
    for (uint32_t i = 0u; i < records; i++) {
        MUST((next_record(keeper, on) == TCUQ_OK) && (flash->last == on->state->page));
        MUST(on->state->unsaved == 0u);
    }
    flash->works = false;
    MUST((next_record(keeper, on) == TCUQ_ERROR_UNSAVED) && (flash->last != on->state->page));
    MUST(tcuq_uplink_run(&on->uplink, on->now_s) == TCUQ_ERROR_UNSAVED);
    flash->works = true;
    const uint8_t page = on->state->page;
    begin(keeper, on);
    MUST((on->state->page == page) && (on->state->saves == records) && (on->core.epoch == records));
    MUST((on->state->boot == 1u) && (on->state->count != 0u));
    flash->pages[page][flash->size - 1u] ^= 1u;
    begin(keeper, on);
    MUST((on->state->page == page) && (on->state->saves == records));
    MUST(on->core.epoch == ((on->uplink.pages > 2u) ? records - 1u : 0u)); /* of two pages one was torn */
    flash->works = false;
    begin(keeper, on);
    MUST((on->state->boot == 0u) && (on->state->count == 0u) && (on->core.epoch == 0u));
}

void check_keeper(fuzz_uplink *on)
{
    flash_pages flash = {.size = on->size + tcuq_snapshot_size(&on->monitor), .works = true};
    const tcuq_keeper keeper = {
        .uplink = &on->uplink, .monitor = &on->monitor, .identity = {.firmware = 1u}, .size = flash.size,
        .buffer = malloc(flash.size), .read = read_page, .write = write_page, .context = &flash};
    for (uint32_t i = 0u; i < MAX_PAGES; i++) {
        flash.pages[i] = malloc(flash.size);
        memset(flash.pages[i], 0xFF, flash.size);
    }
    check_keeper_refusals(&keeper, on);
    if (on->uplink.interval_s <= 3600u) { /* else a life takes too many calls */
        begin(&keeper, on);
        check_restored(&keeper, on);
    }
    for (uint32_t i = 0u; i < MAX_PAGES; i++) {
        free(flash.pages[i]);
    }
    free(keeper.buffer);
    tcuq_reset(&on->monitor);
    on->now_s = 0u;
    MUST(tcuq_uplink_init(&on->uplink) == TCUQ_OK);
}
