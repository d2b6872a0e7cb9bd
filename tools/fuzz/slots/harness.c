/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to the life of a device: blobs of every kind, restarts, confirmations, power cuts within every write, failing
 * flash, a verifier without an answer, any content of flash, counts that wrap. What must hold is checked at each step. */
#include "device.h"

#define CUT 1

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the checks remember. */
static struct {
    uint32_t used;      /* highest number activated, while the pages are those of this device */
    uint32_t pending;   /* number of an activation that a power cut ended, else `used` */
    uint32_t cut_starts; /* starts since the activation that a power cut ended */
    uint32_t settled;   /* number of a confirmed profile whose slot and pages were left alone; 0: none */
    bool trusted;       /* the pages are those of this device */
} known;

static const uint8_t *input;
static size_t left_over;

static uint8_t next(void)
{
    if (left_over == 0u) {
        return 0u;
    }
    left_over--;
    return *input++;
}

/* The pages were changed from outside: of numbers and trials nothing is known any more. */
static void distrust(void)
{
    known.trusted = false;
    known.settled = 0u;
}

static int begin(void)
{
    memset(&state, 0xA5, sizeof state);
    memset(world.ram, 0xA5, sizeof world.ram);
    world.is_verified[0] = false;
    world.is_verified[1] = false;
    world.starting = true;
    const int status = (setjmp(power_off) == 0) ? (int)tcuq_slots_start(&slots, &monitor) : CUT;
    world.starting = false;
    return status;
}

static void check_state(void)
{
    const uint8_t spare = tcuq_slots_spare(&slots);
    MUST((state.active <= 2u) && (state.before <= 2u) && (state.running <= 2u) && (state.page <= 1u));
    MUST(state.running == world.slot_run); /* what the caller is told is what runs */
    MUST((spare == 2u) || ((spare < 2u) && (spare != state.running) && (spare != state.active) && (state.left == 0u)));
    if (state.running < 2u) {
        const uint32_t number = number_in(slots.slots[state.running]);
        MUST((number == state.numbers[state.running]) && (number >= slots.first_number));
    }
}

static void check_start(int status, const device *before)
{
    const uint32_t writes = world.writes - before->writes;
    MUST((status <= 0) && (writes <= 2u));
    check_state();
    if ((state.running < 2u) && (slots.counter != NULL)) {
        MUST(state.numbers[state.running] >= world.counted);
    }
    if (status == TCUQ_ERROR_BUSY) {
        MUST((writes == 0u) && (state.running == 2u) && (world.attempts == before->attempts));
    }
    if (status == TCUQ_OK) {
        MUST((state.running == state.active) && (writes == ((state.left != 0u) ? 1u : 0u)));
    }
    if (known.trusted) {
        MUST((state.highest == known.used) || (state.highest == known.pending));
        MUST(world.attempts <= slots.trial); /* one that hangs is given up */
        MUST((status != TCUQ_ERROR_TRIAL) || ((world.attempts + known.cut_starts) >= slots.trial));
        known.used = state.highest;
        known.pending = state.highest;
    }
    if (known.settled != 0u) {
        MUST(world.busy ? (status == TCUQ_ERROR_BUSY) : (status == TCUQ_OK));
        MUST(world.busy || (state.numbers[state.running] == known.settled));
    }
    if ((status != TCUQ_OK) && (status != TCUQ_ERROR_BUSY) && !world.broken && !world.busy) {
        MUST(state.left == 0u); /* what was given up is given up in flash */
    }
}

/* Restarts until a start ends: a profile that hangs is tried a few times. */
static void restart(void)
{
    device before = world;
    int status = begin();
    for (uint32_t again = 0u; status == CUT; again++) {
        MUST((again <= 600u) || !known.trusted);
        if (again > 600u) { /* whoever writes true switches can confirm a profile that hangs */
            memset(world.pages, 0xFF, sizeof world.pages);
        }
        world.power = UNLIMITED;
        known.cut_starts++;
        before = world;
        status = begin();
    }
    world.power = UNLIMITED;
    check_start(status, &before);
}

static void offer(void)
{
    const uint8_t spare = tcuq_slots_spare(&slots);
    if (spare < 2u) {
        memset(world.slots[spare], 0, SLOT_BYTES);
        world.slots[spare][0] = next();
        world.slots[spare][3] = (next() > 250u) ? 0xFFu : 0u;
        world.slots[spare][4] = world.slots[spare][0] % KINDS; /* nobody signs two blobs under one number */
    }
}

static void activate(void)
{
    const tcuq_slots_state old = state;
    const uint8_t spare = tcuq_slots_spare(&slots);
    const uint32_t number = (spare < 2u) ? number_in(world.slots[spare]) : 0u;
    const uint32_t attempts = world.attempts;
    const bool fine = (spare < 2u) && (world.slots[spare][4] == GOOD) && (number > old.highest) && !world.busy &&
                      !world.broken && (number >= slots.first_number) &&
                      ((slots.counter == NULL) || (number >= world.counted));
    const int status = (setjmp(power_off) == 0) ? (int)tcuq_slots_activate(&slots, &monitor) : CUT;
    MUST(!fine || (status == TCUQ_OK) || (status == CUT));
    if (status == TCUQ_OK) {
        MUST((number > old.highest) && (number >= slots.first_number));
        MUST((world.slots[spare][4] == GOOD) || (world.slots[spare][4] == HANGS));
        MUST(!known.trusted || (number > known.used));
        MUST((slots.counter == NULL) || (number >= world.counted));
        MUST((state.active == spare) && (state.running == spare) && (state.left != 0u) && (state.highest == number));
        MUST(state.before == old.active);
        known.used = number;
        known.pending = number;
    } else if (status != CUT) {
        MUST((state.active == old.active) && (state.highest == old.highest) && (state.left == old.left));
        MUST(state.running == old.running);
    } else {
        known.pending = number;
    }
    if ((status == TCUQ_OK) || (status == CUT)) {
        known.settled = 0u;
        known.cut_starts = (status == CUT) ? 1u : 0u;
    }
    world.attempts = ((status == TCUQ_OK) || (status == CUT)) ? 0u : attempts;
    if (status == CUT) {
        restart();
    } else {
        check_state();
    }
}

static void confirm(void)
{
    const tcuq_slots_state old = state;
    const uint32_t writes = world.writes;
    if ((state.running < 2u) && (slots.slots[state.running][4] == HANGS)) {
        return; /* what hangs confirms nothing */
    }
    const int status = (setjmp(power_off) == 0) ? (int)tcuq_slots_confirm(&slots) : CUT;
    if (status == TCUQ_OK) {
        MUST((state.running == state.active) && (state.left == 0u));
        MUST((world.writes - writes) == ((old.left != 0u) ? 1u : 0u));
        MUST((slots.counter == NULL) || (state.active == 2u) || (world.counted >= state.numbers[state.active]));
        known.settled = (known.trusted && (state.active < 2u)) ? state.numbers[state.active] : 0u;
    } else if (status == CUT) {
        restart();
    } else {
        MUST((old.running != old.active) || world.broken || world.busy);
    }
}

/* Anything in a page, or a whole switch of any values; only a switch with the device's seal may be believed. */
static void scribble(void)
{
    uint8_t *page = world.pages[next() & 1u];
    const uint8_t kind = next();
    distrust();
    for (uint32_t i = 0u; i < TCUQ_SLOTS_BYTES; i++) {
        page[i] = ((kind & 1u) != 0u) ? next() : 0xFFu;
    }
    if ((kind & 2u) != 0u) {
        memcpy(page, "TCUS", 4);
        page[23] = 0u;
        seal_page(page);
    }
    restart();
}

/* Both pages have whole values under a seal with one wrong bit: neither is believed. */
static void forge(void)
{
    distrust();
    for (uint32_t page = 0u; page < 2u; page++) {
        memset(world.pages[page], 0, TCUQ_SLOTS_BYTES);
        memcpy(world.pages[page], "TCUS", 4);
        world.pages[page][8] = 9u;
        seal_page(world.pages[page]);
        world.pages[page][24u + next() % TCUQ_TAG_BYTES] ^= (uint8_t)(1u << (next() & 7u));
    }
    restart();
    MUST((state.highest == 0u) && (state.running == 2u));
}

static void spoil_slot(void)
{
    const uint8_t slot = next() & 1u;
    world.slots[slot][4] |= 0x80u; /* its tag is no longer true */
    known.settled = 0u;
    restart();
}

static void start_over(uint32_t saves)
{
    memset(world.pages, 0xFF, sizeof world.pages);
    memset(&known, 0, sizeof known);
    memset(world.pages[0], 0, TCUQ_SLOTS_BYTES);
    memcpy(world.pages[0], "TCUS", 4);
    for (uint32_t i = 0u; i < 4u; i++) {
        world.pages[0][4u + i] = (uint8_t)(saves >> (8u * i));
    }
    world.pages[0][20] = 2u;
    world.pages[0][21] = 2u;
    seal_page(world.pages[0]);
    known.trusted = true;
    world.attempts = 0u;
    restart();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input = data;
    left_over = size;
    memset(&world, 0, sizeof world);
    world.power = UNLIMITED;
    const uint8_t options = next();
    configure(options, next() % 5u, 1u + next() % 4u);
    start_over(0xFFFFFFF8u + next() % 16u); /* soon wraps, or just did */
    while (left_over != 0u) {
        switch (next() % 11u) {
        case 0: offer(); break;
        case 1: activate(); break;
        case 2: restart(); break;
        case 3: confirm(); break;
        case 4: world.busy = !world.busy; break;
        case 5: world.power = next() % 80u; break;
        case 6: world.broken = !world.broken; break;
        case 7: scribble(); break;
        case 8: spoil_slot(); break;
        case 9: forge(); break;
        default:
            offer();
            activate();
            break;
        }
    }
    return 0;
}
