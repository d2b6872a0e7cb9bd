/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies a blob by a public Ed25519 key. Include it in one source of yours, behind <sodium.h> of libsodium or
 * <monocypher-ed25519.h> of Monocypher 4: your build supplies the library. */
#ifndef TCUQ_VERIFY_ED25519_H
#define TCUQ_VERIFY_ED25519_H

#include "tcuq_verify.h"

#ifdef crypto_sign_ed25519_BYTES
#define TCUQ_ED25519_CHECK(tag, key, bytes, size) crypto_sign_ed25519_verify_detached((tag), (bytes), (size), (key))
#else
#define TCUQ_ED25519_CHECK(tag, key, bytes, size) crypto_ed25519_check((tag), (key), (bytes), (size))
#endif

typedef struct {
    const uint8_t *key; /* 32 bytes: `openssl pkey -pubout -outform DER | tail -c 32` */
    uint8_t number;
} tcuq_ed25519_key;

typedef struct {
    const tcuq_ed25519_key *keys;
    uint8_t count;
} tcuq_ed25519_keys;

/* A tcuq_verify. context: const tcuq_ed25519_keys *. */
static inline tcuq_verdict tcuq_verify_ed25519(void *context, const tcuq_signed_blob *blob)
{
    const tcuq_ed25519_keys *known = (const tcuq_ed25519_keys *)context;
    for (uint8_t i = 0u; (i < known->count) && (blob->tag_bytes == TCUQ_SIGNATURE_BYTES); i++) {
        if ((known->keys[i].number == blob->key) &&
            (TCUQ_ED25519_CHECK(blob->tag, known->keys[i].key, blob->bytes, blob->size) == 0)) {
            return TCUQ_VERDICT_TRUE;
        }
    }
    return TCUQ_VERDICT_FALSE;
}

#endif
