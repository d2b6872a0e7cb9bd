/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what a verifier is given and says. Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_VERIFY_H
#define TCUQ_ACSL_VERIFY_H

/*@ predicate tcuq_signed_given(tcuq_signed_blob *b) =
      \valid_read(b) && \valid_read(b->bytes + (0 .. b->size - 1)) && \valid_read(b->tag + (0 .. b->tag_bytes - 1));

    predicate tcuq_keys_given(tcuq_hmac_keys *known) =
      \valid_read(known) && \valid_read(known->keys + (0 .. known->count - 1)) &&
      (\forall integer i; 0 <= i < known->count ==> known->keys[i].mac == &tcuq_any_mac);

    predicate tcuq_tag_of_key{L}(tcuq_hmac_key *key, tcuq_signed_blob *b) =
      key->number == b->key && (\forall integer k; 0 <= k < 12 ==>
        b->tag[k] == tcuq_true_tag(key->context, b->bytes, b->size, k)); */

/* TRUE for the whole tag of a known key of this number, and for nothing else. */
/*@ requires tcuq_keys_given(known) && tcuq_signed_given(blob);
    assigns \nothing;
    ensures \result == TCUQ_VERDICT_TRUE || \result == TCUQ_VERDICT_FALSE;
    ensures \result == TCUQ_VERDICT_TRUE ==> blob->tag_bytes == TCUQ_TAG_BYTES &&
      (\exists integer i; 0 <= i < known->count &&
        tcuq_tag_of_key(known->keys + i, blob)); */
static tcuq_verdict tcuq_verify_by(const tcuq_hmac_keys *known, const tcuq_signed_blob *blob);

#endif
