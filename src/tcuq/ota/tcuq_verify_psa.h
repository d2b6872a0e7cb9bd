/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a blob by a key in the PSA Crypto store: HMAC, ECDSA with P-256 (Mbed TLS has it), or Ed25519 where the
 * chip's driver has it. Include it in one source of yours; your build supplies <psa/crypto.h>. */
#ifndef TCUQ_VERIFY_PSA_H
#define TCUQ_VERIFY_PSA_H

#include <psa/crypto.h>

#include "tcuq_verify.h"

typedef struct {
    psa_key_id_t id;
    psa_algorithm_t algorithm; /* one of those below; the key's policy must permit it */
    uint8_t number;
} tcuq_psa_key;

typedef struct {
    const tcuq_psa_key *keys;
    uint8_t count;
} tcuq_psa_keys;

#define TCUQ_PSA_HMAC PSA_ALG_TRUNCATED_MAC(PSA_ALG_HMAC(PSA_ALG_SHA_256), TCUQ_TAG_BYTES)
#define TCUQ_PSA_P256 PSA_ALG_ECDSA(PSA_ALG_SHA_256)
#define TCUQ_PSA_ED25519 PSA_ALG_PURE_EDDSA

/* A tcuq_verify. context: const tcuq_psa_keys *. BUSY for every error that does not say that the tag is wrong. */
static inline tcuq_verdict tcuq_verify_psa(void *context, const tcuq_signed_blob *blob)
{
    const tcuq_psa_keys *known = (const tcuq_psa_keys *)context;
    for (uint8_t i = 0u; i < known->count; i++) {
        const tcuq_psa_key *key = &known->keys[i];
        if (key->number == blob->key) {
            const psa_status_t status =
                PSA_ALG_IS_MAC(key->algorithm)
                    ? psa_mac_verify(key->id, key->algorithm, blob->bytes, blob->size, blob->tag, blob->tag_bytes)
                    : psa_verify_message(key->id, key->algorithm, blob->bytes, blob->size, blob->tag, blob->tag_bytes);
            if (status == PSA_SUCCESS) {
                return TCUQ_VERDICT_TRUE;
            }
            return (status == PSA_ERROR_INVALID_SIGNATURE) ? TCUQ_VERDICT_FALSE : TCUQ_VERDICT_BUSY;
        }
    }
    return TCUQ_VERDICT_FALSE;
}

#endif
