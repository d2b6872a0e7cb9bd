/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a blob and the memory of a firmware that loads it. Every block has its exact size, so that sanitizers see
 * each read and write beyond what the room allows; tags are made true where the input asks for it. */
#include <string.h>

#include "must.h"
#include "tcuq_blob.h"

#define HEAD 8u         /* bytes of an input before the blob */
#define LARGEST 65536u  /* bytes of the monitor's past */
#define MOST_WORK (1u << 22)
#define CLASSES 44u /* places in the head */
#define WIDTH 46u
#define STEPS 108u
#define KEY 124u
#define TAG 125u
#define BUSY_KEYS 250u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void mac(const uint8_t *bytes, uint32_t size, uint8_t *tag, uint32_t tag_bytes)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0u; i < size; i++) {
        hash = (uint32_t)((hash ^ bytes[i]) * (uint64_t)16777619u);
    }
    for (uint32_t i = 0u; i < tag_bytes; i++) {
        tag[i] = (uint8_t)(hash >> (i % 4u * 8u)) ^ (uint8_t)i;
    }
}

/* A verifier that reads every byte it is given, and has no answer for keys from 250 on. */
static tcuq_verdict verify(void *context, const tcuq_signed_blob *blob)
{
    uint8_t tag[UINT8_MAX];
    (void)context;
    if (blob->key >= BUSY_KEYS) {
        return TCUQ_VERDICT_BUSY;
    }
    mac(blob->bytes, blob->size, tag, blob->tag_bytes);
    return (memcmp(tag, blob->tag, blob->tag_bytes) == 0) ? TCUQ_VERDICT_TRUE : TCUQ_VERDICT_FALSE;
}

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = 0u;
    while (bytes-- != 0u) {
        value = (value << 8) | at[bytes];
    }
    return value;
}

/* Length and tag as the input asks: what it breaks elsewhere is then behind a true tag. */
static void make_true(uint8_t *blob, uint32_t size, uint8_t flags)
{
    if (size < TCUQ_BLOB_HEAD_BYTES + TCUQ_TAG_BYTES) {
        return;
    }
    if (flags & 1u) {
        for (uint32_t i = 0u; i < 4u; i++) {
            blob[8u + i] = (uint8_t)((size & ~3u) >> (8u * i));
        }
    }
    const uint32_t whole = get(&blob[8], 4u);
    const uint32_t tag = blob[TAG];
    if ((flags & 2u) && (whole <= size) && (whole >= TCUQ_BLOB_HEAD_BYTES + tag)) {
        mac(blob, whole - tag, &blob[whole - tag], tag);
    }
}

static void run(const tcuq_room *room, const uint8_t *blob)
{
    const tcuq_profile *profile = room->profile;
    tcuq_monitor monitor = {
        .profile = profile,
        .core = malloc(sizeof(tcuq_core)),
        .slots = malloc(room->past * sizeof(tcuq_slot)),
        .posteriors = malloc((size_t)room->past * room->classes),
        .features = malloc((size_t)room->past * room->dimensions),
        .smoothed_q8 = malloc(room->term_count * sizeof(int32_t)),
        .channels = malloc(room->channel_count * sizeof(tcuq_channel_state)),
        .telemetry = malloc(sizeof(tcuq_telemetry)),
    };
    MUST(profile->format == TCUQ_PROFILE_FORMAT);
    MUST((profile->term_count <= room->term_count) && (profile->channel_count <= room->channel_count));
    const uint32_t work = profile->classes + profile->width * (1u + profile->dimensions) +
                          profile->mean_count * 64u + 1024u;
    if (get(&blob[STEPS], 2u) * work <= MOST_WORK) {
        const tcuq_status status = tcuq_blob_selftest(&monitor, blob);
        MUST((status == TCUQ_OK) || (status == TCUQ_ERROR_PROFILE) || (status == TCUQ_ERROR_SELFTEST));
    } else {
        const tcuq_status status = tcuq_init(&monitor);
        MUST((status == TCUQ_OK) || (status == TCUQ_ERROR_PROFILE));
    }
    free(monitor.core);
    free(monitor.slots);
    free(monitor.posteriors);
    free(monitor.features);
    free(monitor.smoothed_q8);
    free(monitor.channels);
    free(monitor.telemetry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD) {
        return 0;
    }
    const uint32_t bytes = (uint32_t)(size - HEAD);
    uint8_t *blob = malloc(bytes);
    memcpy(blob, &data[HEAD], bytes);
    make_true(blob, bytes, data[0]);
    tcuq_room room = {
        .past = data[1], .dimensions = data[2] % 40u, .term_count = data[3] % 12u, .channel_count = data[4] % 7u,
        .table_bytes = (data[5] == 255u) ? data[6] : bytes,
    };
    uint32_t product = 0u;
    if (bytes >= TCUQ_BLOB_HEAD_BYTES) { /* the inputs that it is made for, mostly */
        room.inputs = get(&blob[20], 4u) + (data[7] == 255u);
        room.classes = (uint16_t)get(&blob[CLASSES], 2u);
        room.width = (uint16_t)get(&blob[WIDTH], 2u);
        room.health_count = blob[37];
        product = get(&blob[116], 4u) + (data[7] == 254u);
    }
    if (((uint32_t)room.past * room.classes <= LARGEST) && (bytes <= LARGEST)) {
        room.profile = malloc(sizeof(tcuq_profile));
        room.terms = malloc(room.term_count * sizeof(tcuq_term));
        room.tables = malloc(room.table_bytes);
        memset(room.profile, 0xA5, sizeof(tcuq_profile));
        tcuq_loader loader = {.room = &room, .verify = verify, .product = product};
        const uint32_t least = data[5] & 1u;
        const tcuq_status status = tcuq_blob_load(&loader, blob, bytes, least);
        MUST((status == TCUQ_OK) || (getenv("SEEDS_MUST_LOAD") == NULL));
        if (status == TCUQ_OK) {
            run(&room, blob);
        } else {
            MUST(room.profile->format != TCUQ_PROFILE_FORMAT);
            MUST(((status >= TCUQ_ERROR_ROOM) && (status <= TCUQ_ERROR_FORMAT)) ||
                 (status == TCUQ_ERROR_PRODUCT) || (status == TCUQ_ERROR_BUSY));
            MUST((status != TCUQ_ERROR_BUSY) || (blob[KEY] >= BUSY_KEYS));
        }
        const bool filled = (status == TCUQ_OK) || (status == TCUQ_ERROR_ROOM) ||
                            (status == TCUQ_ERROR_DAMAGED);
        MUST(filled || (room.profile->format == 0xA5A5A5A5u)); /* refused before it could change anything */
        free(room.profile);
        free(room.terms);
        free(room.tables);
    }
    free(blob);
    return 0;
}
