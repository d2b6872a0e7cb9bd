/* SPDX-License-Identifier: Apache-2.0 */
/* Blob: checks that it is authentic, new and fit for this firmware, and makes a profile of it.
 *
 * The profile points at the tables in the blob, which is laid out for that; where the CPU is not known to be
 * little-endian, at a copy of them in the caller's memory with the bytes in the CPU's order. */
#include "tcuq_blob_internal.h"

#define TCUQ_BLOB_CUT 1u /* bytes left after a table reached beyond the end; else they are whole words */
#define TCUQ_CHANNEL_BYTES 48u

/* Runs of integers in the blob are runs in memory: no gaps. */
#define TCUQ_RUN(type, first, last, bytes) \
    ((offsetof(type, last) + sizeof(((type *)0)->last) - offsetof(type, first)) == (bytes))
typedef char tcuq_profile_is_as_blob[(TCUQ_RUN(tcuq_profile, lag_count, withhold_denied, 18u) &&
                                      TCUQ_RUN(tcuq_profile, classes, weights, 34u) &&
                                      TCUQ_RUN(tcuq_profile, bias_q16, burst_q16, 20u) &&
                                      TCUQ_RUN(tcuq_profile, alarm_limit, epoch_steps, 8u))
                                         ? 1
                                         : -1];
typedef char tcuq_term_is_as_blob[(TCUQ_RUN(tcuq_term, signal, reserved, 4u) &&
                                   TCUQ_RUN(tcuq_term, dead_q10, start_q10, 14u))
                                      ? 1
                                      : -1];
typedef char tcuq_channel_is_as_blob[(TCUQ_RUN(tcuq_channel, signal, reserved, 4u) &&
                                      TCUQ_RUN(tcuq_channel, signal, boot_limit_q8, 8u) &&
                                      TCUQ_RUN(tcuq_channel, signal, edges, 24u) &&
                                      TCUQ_RUN(tcuq_channel, signal, reserved_end, TCUQ_CHANNEL_BYTES) &&
                                      (sizeof(tcuq_channel) == TCUQ_CHANNEL_BYTES))
                                         ? 1
                                         : -1];

/* A place among the tables; `left` bytes follow it. */
typedef struct {
    const uint8_t *at;
    uint32_t left;
#if !TCUQ_BLOB_IN_PLACE
    uint8_t *to;
#endif
} tcuq_tables;

uint32_t tcuq_blob_number(const uint8_t *bytes)
{
    return tcuq_get_32(&bytes[TCUQ_BLOB_NUMBER]);
}

/* What the caller's verifier says of the tag behind the signed bytes. */
static tcuq_status tcuq_blob_authenticate(const tcuq_loader *loader, const uint8_t *bytes, uint32_t whole)
{
    const uint8_t tag_bytes = bytes[TCUQ_BLOB_TAG];
    const tcuq_signed_blob blob = {
        .bytes = bytes,
        .size = whole - tag_bytes,
        .tag = &bytes[whole - tag_bytes],
        .tag_bytes = tag_bytes,
        .key = bytes[TCUQ_BLOB_KEY],
    };
    tcuq_verdict verdict = TCUQ_VERDICT_FALSE;
    //@ calls tcuq_any_verify;
    verdict = loader->verify(loader->verify_context, &blob);
    if (verdict == TCUQ_VERDICT_BUSY) {
        return TCUQ_ERROR_BUSY;
    }
    return (verdict == TCUQ_VERDICT_TRUE) ? TCUQ_OK : TCUQ_ERROR_FORGED;
}

/* Whether a blob of this head lies within its place, tag and all; its size. */
static bool tcuq_blob_fits(const uint8_t *bytes, uint32_t size, uint32_t *whole)
{
    const uint32_t tag_bytes = bytes[TCUQ_BLOB_TAG];
    *whole = tcuq_get_32(&bytes[TCUQ_BLOB_SIZE]);
    return (*whole <= size) && (*whole >= (TCUQ_BLOB_HEAD_BYTES + tag_bytes)) && ((*whole & 3u) == 0u) &&
           (tag_bytes >= TCUQ_TAG_BYTES) && ((tag_bytes & 3u) == 0u);
}

tcuq_status tcuq_blob_verify(const tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least)
{
    const tcuq_room *room = loader->room;
    if ((room == NULL) || (loader->verify == NULL) || (bytes == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    if (((uintptr_t)bytes & 7u) != 0u) {
        return TCUQ_ERROR_ALIGNMENT;
    }
    if (size < TCUQ_BLOB_HEAD_BYTES) {
        return TCUQ_ERROR_DAMAGED;
    }
    if ((tcuq_get_32(bytes) != TCUQ_BLOB_MAGIC) ||
        (tcuq_get_32(&bytes[4]) != (TCUQ_BLOB_FORMAT | ((uint32_t)TCUQ_PROFILE_FORMAT << 16)))) {
        return TCUQ_ERROR_FORMAT;
    }
    uint32_t whole = 0u;
    if (!tcuq_blob_fits(bytes, size, &whole)) {
        return TCUQ_ERROR_DAMAGED;
    }
    const tcuq_status status = tcuq_blob_authenticate(loader, bytes, whole);
    if (status != TCUQ_OK) {
        return status;
    }
    if (tcuq_blob_number(bytes) < least) {
        return TCUQ_ERROR_OLD;
    }
    if (tcuq_get_32(&bytes[TCUQ_BLOB_PRODUCT]) != loader->product) {
        return TCUQ_ERROR_PRODUCT;
    }
    return ((tcuq_get_32(&bytes[20]) == room->inputs) &&
            (tcuq_get_16(&bytes[TCUQ_BLOB_CLASSES]) == room->classes) &&
            (tcuq_get_16(&bytes[TCUQ_BLOB_WIDTH]) == room->width) &&
            (bytes[TCUQ_BLOB_HEALTH] == room->health_count))
               ? TCUQ_OK
               : TCUQ_ERROR_INPUTS;
}

tcuq_status tcuq_blob_check_expiry(const tcuq_loader *loader, const uint8_t *bytes)
{
    const uint32_t expires = tcuq_get_32(&bytes[TCUQ_BLOB_EXPIRES]);
    uint32_t now = 0u;
    if ((expires != 0u) && (loader->clock != NULL)) {
        //@ calls tcuq_any_clock;
        now = loader->clock(loader->clock_context);
    }
    return ((expires == 0u) || ((now != 0u) && (now < expires))) ? TCUQ_OK : TCUQ_ERROR_EXPIRED;
}

/* So many integers of so many bytes, from the blob's order into the CPU's. */
static void tcuq_blob_copy(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t count)
{
#if TCUQ_BLOB_IN_PLACE
    const uint32_t flip = 0u;
#else
    const uint16_t one = 1u;
    const uint32_t flip = (*(const uint8_t *)&one == 0u) ? bytes - 1u : 0u; /* bytes is a power of two */
#endif
    for (uint32_t i = 0u; i < (bytes * count); i++) {
        to[i] = from[i ^ flip];
    }
}

/* The next table, null if it is empty or reaches beyond the end; the place moves on behind it. */
static const void *tcuq_blob_take(tcuq_tables *tables, uint32_t bytes, uint32_t count)
{
    const uint32_t size = tcuq_blob_padded(bytes * count);
    const uint8_t *table = tables->at;
    if (size > tables->left) {
        tables->left = TCUQ_BLOB_CUT;
        return NULL;
    }
    tables->at = &table[size];
    tables->left -= size;
#if !TCUQ_BLOB_IN_PLACE
    uint8_t *copy = tables->to;
    tables->to = &copy[size];
    tcuq_blob_copy(copy, table, bytes, count);
    table = copy;
#endif
    return (count != 0u) ? table : NULL;
}

/* Everything of a profile that is not a table: runs of integers, which a profile has without gaps too. */
static void tcuq_blob_scalars(tcuq_profile *profile, const uint8_t *bytes)
{
    profile->hash = tcuq_get_32(&bytes[16]);
    tcuq_blob_copy(&profile->lag_count, &bytes[24], 1u, 18u);
    tcuq_blob_copy((uint8_t *)&profile->classes, &bytes[TCUQ_BLOB_CLASSES], 2u, 17u);
    tcuq_blob_copy((uint8_t *)&profile->bias_q16, &bytes[80], 4u, 5u);
    tcuq_blob_copy((uint8_t *)&profile->alarm_limit, &bytes[100], 4u, 2u);
}

/* The terms, which hold pointers and so are the caller's memory, and their tables. */
static void tcuq_blob_terms(const tcuq_room *room, tcuq_tables *tables)
{
    tcuq_profile *profile = room->profile;
    for (uint32_t i = 0u; i < profile->term_count; i++) {
        tcuq_term *term = &room->terms[i];
        const uint8_t *at = tables->at;
        if (tcuq_blob_take(tables, 1u, TCUQ_BLOB_TERM_BYTES) == NULL) {
            return;
        }
        tcuq_blob_copy(&term->signal, at, 1u, 4u);
        tcuq_blob_copy((uint8_t *)&term->dead_q10, &at[4], 2u, 7u);
        term->points = tcuq_blob_take(tables, 2u, term->point_count);
        term->bits_q10 = tcuq_blob_take(tables, 2u, term->point_count);
    }
    profile->terms = (profile->term_count != 0u) ? room->terms : NULL;
}

static const tcuq_channel *tcuq_blob_channels(uint32_t count, tcuq_tables *tables)
{
#if TCUQ_BLOB_IN_PLACE
    return tcuq_blob_take(tables, TCUQ_CHANNEL_BYTES, count);
#else
    const uint8_t *first = tables->to;
    for (uint32_t i = 0u; i < count; i++) {
        (void)tcuq_blob_take(tables, 1u, 4u);
        (void)tcuq_blob_take(tables, 2u, 2u);
        (void)tcuq_blob_take(tables, 4u, 1u + TCUQ_EDGES);
        (void)tcuq_blob_take(tables, 2u, TCUQ_GAINS + TCUQ_COUNTS + 1u);
    }
    return (count != 0u) ? (const void *)first : NULL;
#endif
}

/* All tables, in the order of the blob: those of the widest integers first. */
static void tcuq_blob_point(const tcuq_room *room, const uint8_t *bytes, tcuq_tables *tables)
{
    tcuq_profile *profile = room->profile;
    const uint32_t rows = bytes[TCUQ_BLOB_ROWS];
    const uint32_t means = profile->mean_count;
    const uint32_t groups = (means != 0u) ? (((uint32_t)profile->dimensions + 3u) / 4u) : 0u;
    const uint32_t outputs = (bytes[TCUQ_BLOB_REDUCED] == 1u) ? profile->dimensions : 0u;
    const uint32_t selected = (bytes[TCUQ_BLOB_REDUCED] == 2u) ? profile->dimensions : 0u;
    const uint32_t lags = profile->lag_count;
    profile->whitening = tcuq_blob_take(tables, 8u, 2u * groups * (groups + 1u));
    profile->mean_squares = tcuq_blob_take(tables, 4u, means);
    profile->projection_bias = tcuq_blob_take(tables, 4u, outputs);
    profile->channels = tcuq_blob_channels(profile->channel_count, tables);
    tcuq_blob_terms(room, tables);
    profile->means = tcuq_blob_take(tables, 2u, means * 4u * groups);
    profile->lag_weights_q15 = tcuq_blob_take(tables, 2u, lags * (lags + 1u) / 2u);
    profile->health_means = tcuq_blob_take(tables, 2u, profile->health_count);
    profile->health_weights_q9 = tcuq_blob_take(tables, 2u, profile->health_count);
    profile->whitening_shift = tcuq_blob_take(tables, 1u, 4u * groups);
    profile->projection = tcuq_blob_take(tables, 1u, outputs * profile->width);
    profile->selection = tcuq_blob_take(tables, 1u, selected);
    (void)tcuq_blob_take(tables, 1u, rows * profile->classes);
    (void)tcuq_blob_take(tables, 1u, rows * profile->width);
    (void)tcuq_blob_take(tables, 2u, rows * profile->health_count);
}

tcuq_status tcuq_blob_fill(tcuq_loader *loader, const uint8_t *bytes)
{
    const tcuq_room *room = loader->room;
    tcuq_profile *profile = room->profile;
    tcuq_tables tables = {
        .at = &bytes[TCUQ_BLOB_HEAD_BYTES],
        .left = tcuq_get_32(&bytes[TCUQ_BLOB_SIZE]) - TCUQ_BLOB_HEAD_BYTES - bytes[TCUQ_BLOB_TAG],
    };
    profile->format = 0u; /* until all is in place */
    tcuq_blob_scalars(profile, bytes);
    if ((profile->lag_count == 0u) || (profile->lag_count > TCUQ_MAX_LAGS) ||
        (profile->lags[profile->lag_count - 1u] > room->past) || (profile->dimensions > room->dimensions) ||
        (profile->term_count > room->term_count) || (profile->channel_count > room->channel_count)) {
        return TCUQ_ERROR_ROOM;
    }
#if !TCUQ_BLOB_IN_PLACE
    if (tables.left > room->table_bytes) {
        return TCUQ_ERROR_ROOM;
    }
    tables.to = (uint8_t *)room->tables;
#endif
    tcuq_blob_point(room, bytes, &tables);
    if ((tables.left != 0u) || (bytes[TCUQ_BLOB_ROWS] == 0u) || (bytes[TCUQ_BLOB_DWELL] == 0u)) {
        return TCUQ_ERROR_DAMAGED;
    }
    profile->format = TCUQ_PROFILE_FORMAT;
    return TCUQ_OK;
}

tcuq_status tcuq_blob_load(tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least)
{
    const tcuq_status status = tcuq_blob_verify(loader, bytes, size, least);
    return (status == TCUQ_OK) ? tcuq_blob_fill(loader, bytes) : status;
}
