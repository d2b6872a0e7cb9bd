/* SPDX-License-Identifier: Apache-2.0 */
/* Blob: a profile as authenticated bytes, sent over the air (docs/spec/blob.md). C99, integers only, no
 * allocation, no globals; flash, memory, keys and cryptography are the caller's (docs/howto/ota.md).
 *
 * No byte of a blob is trusted: its tag or signature is verified first; then its number, its product, its inputs,
 * what memory it needs and the place of every table. tcuq_init or tcuq_blob_selftest then checks every value. */
#ifndef TCUQ_BLOB_H
#define TCUQ_BLOB_H

#include "tcuq.h"
#include "tcuq_verify.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_BLOB_FORMAT 2u
#define TCUQ_BLOB_HEAD_BYTES 128u

/* Whether tables are read in the blob: the CPU is known to be little-endian. Else they are copied; define
 * TCUQ_BLOB_COPY to copy them on every CPU. */
#if defined(__BYTE_ORDER__) && (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) && !defined(TCUQ_BLOB_COPY)
#define TCUQ_BLOB_IN_PLACE 1
#else
#define TCUQ_BLOB_IN_PLACE 0
#endif

/* Where a profile goes, and what it may need at most: the memory that the monitor has. `tcuq export --ota`
 * writes one. */
typedef struct {
    tcuq_profile *profile;
    tcuq_term *terms;     /* term_count of them */
    uint64_t *tables;     /* copy of all tables; null if TCUQ_BLOB_IN_PLACE */
    uint32_t table_bytes; /* of that copy */
    uint32_t inputs;      /* identifier of the inputs and how they are quantised */
    uint16_t classes;
    uint16_t width;
    uint8_t health_count;
    uint8_t past;       /* steps the monitor's slots, posteriors and features hold */
    uint8_t dimensions; /* features of each */
    uint8_t term_count;
    uint8_t channel_count;
} tcuq_room;

/* Seconds since 1970, or 0 if the device does not know them. */
typedef uint32_t (*tcuq_clock)(void *context);

typedef struct {
    const tcuq_room *room;
    tcuq_verify verify; /* tcuq_verify_hmac, tcuq_verify_ed25519, tcuq_verify_psa or the caller's */
    void *verify_context;
    uint32_t product; /* blobs for another one are refused */
    tcuq_clock clock; /* null: blobs that expire are refused */
    void *clock_context;
} tcuq_loader;

/* tcuq_blob_verify, then tcuq_blob_fill. A blob begins at a multiple of 8 and stays where it is, unchanged, as long
 * as its profile is used: flash that can be changed from outside is copied into RAM first.
 * loader: room and verify, none of them null. bytes: any content. size: bytes of the place that holds the blob.
 * least: a lower number is refused. No other call may use the room meanwhile. */
TCUQ_MUST_CHECK tcuq_status tcuq_blob_load(tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least);

/* Whether a blob is authentic, and its number, product and inputs are right; the room's profile is unchanged.
 * loader, bytes, size, least: those of tcuq_blob_load. */
TCUQ_MUST_CHECK tcuq_status tcuq_blob_verify(const tcuq_loader *loader, const uint8_t *bytes, uint32_t size,
                                             uint32_t least);

/* EXPIRED if a blob must no longer be activated. One that is active does not end.
 * loader: that of tcuq_blob_verify, whose bytes these are. */
TCUQ_MUST_CHECK tcuq_status tcuq_blob_check_expiry(const tcuq_loader *loader, const uint8_t *bytes);

/* The room's profile becomes that of a blob. After an error it is one that tcuq_init refuses.
 * loader: that of tcuq_blob_verify, whose bytes these are, unchanged. */
TCUQ_MUST_CHECK tcuq_status tcuq_blob_fill(tcuq_loader *loader, const uint8_t *bytes);

/* The number of a blob; bytes: that tcuq_blob_verify found right. */
uint32_t tcuq_blob_number(const uint8_t *bytes);

/* tcuq_init with the profile that was loaded from these bytes, then the blob's own steps, whose decisions must
 * be the host's; then tcuq_reset. The monitor's profile is the room's. */
TCUQ_MUST_CHECK tcuq_status tcuq_blob_selftest(tcuq_monitor *monitor, const uint8_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
