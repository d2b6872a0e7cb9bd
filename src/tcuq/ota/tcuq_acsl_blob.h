/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what checking a blob asks and leaves. Read by Frama-C, never by a
 * compiler. */
#ifndef TCUQ_ACSL_BLOB_H
#define TCUQ_ACSL_BLOB_H

#include "tcuq_acsl_verify.h"

/* What the caller's verifier says of bytes. */
/*@ axiomatic tcuq_verdicts {
      logic integer tcuq_verdict_on{L}(void *context, uint8_t *bytes, integer size) reads bytes[0 .. size - 1];
    }
    predicate tcuq_is_authentic{L}(tcuq_loader *loader, uint8_t *bytes, integer size) =
      tcuq_verdict_on(loader->verify_context, bytes, size) == TCUQ_VERDICT_TRUE; */

/* Stands for the caller's function. */
/*@ requires tcuq_signed_given(blob);
    assigns \nothing;
    ensures \result == tcuq_verdict_on(context, blob->bytes, blob->size); */
tcuq_verdict tcuq_any_verify(void *context, const tcuq_signed_blob *blob);

/*@ assigns \nothing; */
uint32_t tcuq_any_clock(void *context);

/*@ requires \valid_read(bytes + (0 .. TCUQ_BLOB_HEAD_BYTES - 1)); assigns \nothing; */
uint32_t tcuq_blob_number(const uint8_t *bytes);

/*@ requires \valid_read(loader) && loader->verify == &tcuq_any_verify;
    requires TCUQ_BLOB_HEAD_BYTES + bytes[TCUQ_BLOB_TAG] <= whole && \valid_read(bytes + (0 .. whole - 1));
    assigns \nothing;
    ensures \result == TCUQ_OK <==> tcuq_is_authentic(loader, bytes, whole - bytes[TCUQ_BLOB_TAG]); */
static tcuq_status tcuq_blob_authenticate(const tcuq_loader *loader, const uint8_t *bytes, uint32_t whole);

/* The whole size as the head says it: a word of four bytes. */
/*@ requires TCUQ_BLOB_HEAD_BYTES <= size && \valid_read(bytes + (0 .. size - 1));
    requires \valid(whole) && \separated(whole, bytes + (0 .. size - 1));
    assigns *whole;
    ensures \result ==> TCUQ_BLOB_HEAD_BYTES + bytes[TCUQ_BLOB_TAG] <= *whole <= size &&
      TCUQ_TAG_BYTES <= bytes[TCUQ_BLOB_TAG]; */
static bool tcuq_blob_fits(const uint8_t *bytes, uint32_t size, uint32_t *whole);

/* Whatever the bytes are: nothing is taken without the verifier's word. */
/*@ requires \valid_read(loader) && (loader->verify == \null || loader->verify == &tcuq_any_verify);
    requires loader->room == \null || \valid_read(loader->room);
    requires bytes == \null || \valid_read(bytes + (0 .. size - 1));
    assigns \nothing;
    ensures \result == TCUQ_OK ==>
      bytes != \null && loader->room != \null && TCUQ_BLOB_HEAD_BYTES + TCUQ_TAG_BYTES <= size;
    ensures \result == TCUQ_OK ==>
      (\exists integer whole; TCUQ_BLOB_HEAD_BYTES <= whole <= size && tcuq_is_authentic(loader, bytes, whole)); */
tcuq_status tcuq_blob_verify(const tcuq_loader *loader, const uint8_t *bytes, uint32_t size, uint32_t least);

/*@ requires \valid_read(loader) && (loader->clock == \null || loader->clock == &tcuq_any_clock);
    requires \valid_read(bytes + (0 .. TCUQ_BLOB_HEAD_BYTES - 1));
    assigns \nothing;
    ensures \result == TCUQ_OK || \result == TCUQ_ERROR_EXPIRED; */
tcuq_status tcuq_blob_check_expiry(const tcuq_loader *loader, const uint8_t *bytes);

/* Of what is not read: what it changes of the loader's. */
/*@ assigns *loader->room->profile; */
tcuq_status tcuq_blob_fill(tcuq_loader *loader, const uint8_t *bytes);

/*@ assigns *monitor->core; */
tcuq_status tcuq_blob_selftest(tcuq_monitor *monitor, const uint8_t *bytes);

#endif
