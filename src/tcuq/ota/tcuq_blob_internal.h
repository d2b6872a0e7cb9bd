/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a blob's fields, which docs/spec/blob.md lists; no part of its interface. */
#ifndef TCUQ_BLOB_INTERNAL_H
#define TCUQ_BLOB_INTERNAL_H

#include "tcuq_blob.h"
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#define TCUQ_BLOB_MAGIC 0x42554354u /* "TCUB" */
#define TCUQ_BLOB_SIZE 8u
#define TCUQ_BLOB_NUMBER 12u
#define TCUQ_BLOB_HEALTH 37u
#define TCUQ_BLOB_REDUCED 42u /* 1: a projection follows; 2: a selection; 0: neither */
#define TCUQ_BLOB_CLASSES 44u
#define TCUQ_BLOB_WIDTH 46u
#define TCUQ_BLOB_STEPS 108u
#define TCUQ_BLOB_ROWS 110u
#define TCUQ_BLOB_DWELL 111u
#define TCUQ_BLOB_DECISIONS 112u
#define TCUQ_BLOB_PRODUCT 116u
#define TCUQ_BLOB_EXPIRES 120u
#define TCUQ_BLOB_KEY 124u
#define TCUQ_BLOB_TAG 125u /* bytes of the tag */
#define TCUQ_BLOB_TERM_BYTES 20u

#ifdef __FRAMAC__
#include "tcuq_acsl_blob.h"
#endif

/* Bytes of a table: it is filled up to whole words. */
static inline uint32_t tcuq_blob_padded(uint32_t size)
{
    return (size + 3u) & ~3u;
}

/* Two's complement, on every CPU. */
static inline int16_t tcuq_blob_signed_16(const uint8_t *at)
{
    const int32_t value = tcuq_get_16(at);
    return (int16_t)((value < 32768) ? value : value - 65536);
}

#endif
