/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated device around an export with --ota: flash that a power cut tears, RAM that a restart fills with noise. */
#include <setjmp.h>
#include <string.h>

#include "hmac_sha256.h"
#include "tcuq_device.h"
#include "tcuq_slots.h"

#define SLOT_BYTES 16384u
#define PAGE_BYTES 32u
#define CUT (-100)

static uint64_t slot_flash[2][SLOT_BYTES / 8u];
static uint8_t page_flash[2][PAGE_BYTES];
static uint8_t key[64];
static uint32_t key_bytes;
static uint32_t power;  /* erasures and bytes written until the power is cut */
static uint32_t writes; /* of pages, begun */
static bool broken;     /* every write fails */
static jmp_buf off;
static tcuq_slots_state state;

static void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    uint8_t whole[HMAC_SHA256_BYTES];
    (void)context;
    hmac_sha256(key, key_bytes, bytes, size, whole);
    memcpy(tag, whole, TCUQ_TAG_BYTES);
}

static void spend(void)
{
    if (power == 0u) {
        longjmp(off, 1);
    }
    power--;
}

static bool write_page(void *context, uint8_t page, const uint8_t *bytes, uint32_t size)
{
    (void)context;
    writes++;
    if (broken) {
        return false;
    }
    spend();
    memset(page_flash[page], 0xFF, PAGE_BYTES);
    for (uint32_t i = 0u; i < size; i++) {
        spend();
        page_flash[page][i] = bytes[i];
    }
    return true;
}

static const tcuq_slots slots = {
    .loader = {.room = &tcuq_device_room, .mac = mac},
    .built_in = &tcuq_device_profile,
    .slots = {(const uint8_t *)slot_flash[0], (const uint8_t *)slot_flash[1]},
    .pages = {page_flash[0], page_flash[1]},
    .slot_bytes = SLOT_BYTES,
    .first_number = 1u,
    .trial = 3u,
    .write = write_page,
    .state = &state,
};

void device_new(const uint8_t *secret, uint32_t size)
{
    memset(slot_flash, 0xFF, sizeof slot_flash);
    memset(page_flash, 0xFF, sizeof page_flash);
    memcpy(key, secret, size);
    key_bytes = size;
    power = UINT32_MAX;
    writes = 0u;
    broken = false;
}

/* All of flash, to copy it before a test of many cuts. */
uint32_t device_flash(uint8_t *to, const uint8_t *from)
{
    if (from != NULL) {
        memcpy(slot_flash, from, sizeof slot_flash);
        memcpy(page_flash, &from[sizeof slot_flash], sizeof page_flash);
    } else if (to != NULL) {
        memcpy(to, slot_flash, sizeof slot_flash);
        memcpy(&to[sizeof slot_flash], page_flash, sizeof page_flash);
    }
    return sizeof slot_flash + sizeof page_flash;
}

void device_power(uint32_t units, bool fails)
{
    power = units;
    broken = fails;
}

uint32_t device_writes(void)
{
    return writes;
}

int device_start(void)
{
    memset(&state, 0xA5, sizeof state);
    memset(tcuq_device_room.profile, 0xA5, sizeof *tcuq_device_room.profile);
    return (setjmp(off) == 0) ? (int)tcuq_slots_start(&slots, &tcuq_device_ota) : CUT;
}

int device_write(const uint8_t *blob, uint32_t size)
{
    const uint8_t spare = tcuq_slots_spare(&slots);
    if ((spare < 2u) && (size <= SLOT_BYTES)) {
        memset(slot_flash[spare], 0xFF, SLOT_BYTES);
        memcpy(slot_flash[spare], blob, size);
    }
    return spare;
}

int device_activate(void)
{
    return (setjmp(off) == 0) ? (int)tcuq_slots_activate(&slots, &tcuq_device_ota) : CUT;
}

int device_confirm(void)
{
    return (setjmp(off) == 0) ? (int)tcuq_slots_confirm(&slots) : CUT;
}

/* The loader alone, from an aligned place or one that is not. */
int device_load(const uint8_t *blob, uint32_t size, uint32_t least, uint32_t offset)
{
    static uint64_t place[SLOT_BYTES / 8u + 1u];
    uint8_t *at = (uint8_t *)place + offset;
    if (size > SLOT_BYTES) {
        return CUT;
    }
    memcpy(at, blob, size);
    tcuq_blob_status status = tcuq_blob_load(&slots.loader, at, size, least);
    return (int)((status == TCUQ_BLOB_OK) ? tcuq_blob_selftest(&tcuq_device_ota, at) : status);
}

void device_state(uint32_t *to)
{
    to[0] = state.active;
    to[1] = state.before;
    to[2] = state.left;
    to[3] = state.highest;
    to[4] = tcuq_device_room.profile->hash;
    to[5] = tcuq_device_profile.hash;
}

void device_step(const uint8_t *posterior, const int8_t *features, const int16_t *health, tcuq_decision *decision)
{
    tcuq_step(&tcuq_device_ota, posterior, features, health, decision);
}

int device_record(uint8_t *record)
{
    const tcuq_identity identity = {.device = 7u, .firmware = 1u, .boot = 1u, .sequence = 0u};
    return (int)tcuq_record(&tcuq_device_ota, &identity, record, TCUQ_RECORD_BYTES);
}

int device_snapshot(uint8_t *to, uint32_t size)
{
    return (int)tcuq_snapshot(&tcuq_device_ota, to, size);
}

int device_restore(const uint8_t *from, uint32_t size)
{
    return (int)tcuq_restore(&tcuq_device_ota, from, size);
}
