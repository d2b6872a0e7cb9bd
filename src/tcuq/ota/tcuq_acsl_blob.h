/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what checking a blob asks and leaves. Read by Frama-C, never by a
 * compiler. */
#ifndef TCUQ_ACSL_BLOB_H
#define TCUQ_ACSL_BLOB_H

#include "tcuq_acsl_sign.h"

/*@ requires \valid_read(bytes + (0 .. TCUQ_BLOB_HEAD_BYTES - 1)); assigns \nothing; */
uint32_t tcuq_blob_number(const uint8_t *bytes);

/*@ requires \valid_read(loader) && loader->mac == &tcuq_any_mac && signed_bytes <= 0xFFFFFFFF - TCUQ_TAG_BYTES;
    requires \valid_read(bytes + (0 .. signed_bytes + TCUQ_TAG_BYTES - 1));
    assigns \nothing; */
static bool tcuq_blob_authentic(const tcuq_loader *loader, const uint8_t *bytes, uint32_t signed_bytes);

/* Whatever the bytes are. */
/*@ requires \valid_read(loader) && (loader->mac == \null || loader->mac == &tcuq_any_mac);
    requires loader->room == \null || \valid_read(loader->room);
    requires bytes == \null || \valid_read(bytes + (0 .. size - 1));
    assigns \nothing;
    ensures \result == TCUQ_BLOB_OK ==>
      bytes != \null && loader->room != \null && TCUQ_BLOB_HEAD_BYTES + TCUQ_TAG_BYTES <= size; */
tcuq_blob_status tcuq_blob_verify(const tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least);

#endif
