/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a blob by the device's own symmetric key. */
#include "tcuq_verify.h"

#ifdef __FRAMAC__
#include "tcuq_acsl_verify.h"
#endif

static tcuq_verdict tcuq_verify_by(const tcuq_hmac_keys *known, const tcuq_signed_blob *blob)
{
    if (blob->tag_bytes != TCUQ_TAG_BYTES) {
        return TCUQ_VERDICT_FALSE;
    }
    /*@ loop invariant i <= known->count;
        loop assigns i;
        loop variant known->count - i; */
    for (uint8_t i = 0u; i < known->count; i++) {
        const tcuq_hmac_key *key = &known->keys[i];
        if (key->number == blob->key) {
            uint8_t tag[TCUQ_TAG_BYTES];
            //@ calls tcuq_any_mac;
            key->mac(key->context, blob->bytes, blob->size, tag);
            return tcuq_tags_equal(tag, blob->tag) ? TCUQ_VERDICT_TRUE : TCUQ_VERDICT_FALSE;
        }
    }
    return TCUQ_VERDICT_FALSE;
}

tcuq_verdict tcuq_verify_hmac(void *context, const tcuq_signed_blob *blob)
{
    return tcuq_verify_by((const tcuq_hmac_keys *)context, blob);
}
