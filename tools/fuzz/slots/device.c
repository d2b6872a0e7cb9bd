/* SPDX-License-Identifier: Apache-2.0 */
/* The device: the loader's functions in a few lines, so that slots alone are fuzzed; the flash; the chip's counter. */
#include "device.h"

#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#define SEALED 24u
#define EXTERNAL_SLOTS 1u
#define TAGGED 2u
#define COUNTED 4u

device world;
jmp_buf power_off;
tcuq_slots_state state;

static tcuq_profile profile;
static const tcuq_profile built_in = {.hash = 1u};
static const tcuq_room room = {.profile = &profile};
tcuq_monitor monitor = {.profile = &profile};

static void spend(void)
{
    if (world.power == 0u) {
        longjmp(power_off, 1);
    }
    world.power -= (world.power != UNLIMITED) ? 1u : 0u;
}

static bool write_page(void *context, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    (void)context;
    MUST((page < 2u) && (size == TCUQ_SLOTS_BYTES));
    if (world.broken) {
        return false;
    }
    spend();
    memset(world.pages[page], 0xFF, size);
    for (uint32_t i = 0u; i < size; i++) {
        spend();
        world.pages[page][i] = bytes[i];
    }
    world.writes++;
    return true;
}

static bool read_slot(void *context, uint8_t slot)
{
    (void)context;
    memcpy(world.ram[slot], world.slots[slot], SLOT_BYTES);
    return !world.busy;
}

static bool read_counter(void *context, uint32_t *number)
{
    (void)context;
    *number = world.counted;
    return !world.busy;
}

static bool raise_counter(void *context, uint32_t number)
{
    (void)context;
    MUST(number > world.counted);
    if (!world.broken) {
        world.counted = number;
    }
    return !world.broken;
}

static void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    uint32_t hash = 2166136261u;
    (void)context;
    for (uint32_t i = 0u; i < size; i++) {
        hash = (uint32_t)((hash ^ bytes[i]) * (uint64_t)16777619u);
    }
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        tag[i] = (uint8_t)((uint8_t)(hash >> (i % 4u * 8u)) ^ i);
    }
}

static const tcuq_counter counter = {.read = read_counter, .raise = raise_counter};
tcuq_slots slots = {
    .loader = {.room = &room}, .built_in = &built_in, .pages = {world.pages[0], world.pages[1]},
    .slot_bytes = SLOT_BYTES, .write = write_page, .state = &state};

void configure(uint8_t options, uint8_t trial, uint32_t first_number)
{
    const bool external = (options & EXTERNAL_SLOTS) != 0u;
    slots.slots[0] = external ? world.ram[0] : world.slots[0];
    slots.slots[1] = external ? world.ram[1] : world.slots[1];
    slots.read = external ? read_slot : NULL;
    slots.mac = ((options & TAGGED) != 0u) ? mac : NULL;
    slots.counter = ((options & COUNTED) != 0u) ? &counter : NULL;
    slots.trial = trial;
    slots.first_number = first_number;
}

uint32_t number_in(const uint8_t *blob)
{
    return tcuq_get_32(blob);
}

void seal_page(uint8_t *page)
{
    if (slots.mac != NULL) {
        mac(NULL, page, SEALED, &page[SEALED]);
    } else {
        memset(&page[SEALED], 0, TCUQ_TAG_BYTES);
        tcuq_put_32(&page[SEALED], tcuq_crc32(page, SEALED));
    }
}

/* ---- the loader ---- */

static uint8_t slot_of(const uint8_t *bytes)
{
    MUST((bytes == slots.slots[0]) || (bytes == slots.slots[1]));
    return (bytes == slots.slots[0]) ? 0u : 1u;
}

tcuq_status tcuq_blob_verify(const tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least)
{
    const uint8_t slot = slot_of(bytes);
    MUST((loader == &slots.loader) && (size == SLOT_BYTES) && (least >= slots.first_number));
    world.is_verified[slot] = false;
    if (world.busy) {
        return TCUQ_ERROR_BUSY;
    }
    if ((bytes[4] == FORGED) || (bytes[4] >= KINDS)) {
        return TCUQ_ERROR_FORGED;
    }
    if (number_in(bytes) < least) {
        return TCUQ_ERROR_OLD;
    }
    memcpy(world.verified[slot], bytes, SLOT_BYTES);
    world.is_verified[slot] = true;
    return TCUQ_OK;
}

tcuq_status tcuq_blob_check_expiry(const tcuq_loader *loader, const uint8_t *bytes)
{
    (void)loader;
    MUST(world.is_verified[slot_of(bytes)]);
    return (bytes[4] == EXPIRED) ? TCUQ_ERROR_EXPIRED : TCUQ_OK;
}

/* What becomes a profile is what was verified, byte for byte. */
tcuq_status tcuq_blob_fill(tcuq_loader *loader, const uint8_t *bytes)
{
    const uint8_t slot = slot_of(bytes);
    (void)loader;
    MUST(world.is_verified[slot] && (memcmp(world.verified[slot], bytes, SLOT_BYTES) == 0));
    profile.hash = 0u;
    return (bytes[4] == TOO_LARGE) ? TCUQ_ERROR_ROOM : TCUQ_OK;
}

uint32_t tcuq_blob_number(const uint8_t *bytes)
{
    MUST(world.is_verified[slot_of(bytes)]);
    return number_in(bytes);
}

tcuq_status tcuq_blob_selftest(tcuq_monitor *device_monitor, const uint8_t *bytes)
{
    const uint8_t slot = slot_of(bytes);
    MUST(device_monitor == &monitor);
    if (world.starting && (slot == state.active) && (state.left != 0u)) {
        world.attempts++;
    }
    if (world.starting && (bytes[4] == HANGS)) {
        longjmp(power_off, 2); /* a watchdog ends it */
    }
    if (bytes[4] == FAILS_SELF_TEST) {
        return TCUQ_ERROR_SELFTEST;
    }
    world.slot_run = slot;
    return TCUQ_OK;
}

tcuq_status tcuq_init(tcuq_monitor *device_monitor)
{
    MUST((device_monitor == &monitor) && (profile.hash == built_in.hash));
    world.slot_run = TCUQ_SLOTS_BUILT_IN;
    return TCUQ_OK;
}
