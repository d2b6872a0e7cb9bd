/* SPDX-License-Identifier: Apache-2.0 */
/* Verifiers: who may sign a profile. The loader calls one of them for each blob (docs/howto/ota-keys.md):
 * - tcuq_verify_hmac, here: each device has a key of its own, derived from a master;
 * - tcuq_verify_ed25519.h: one public key on all devices, by libsodium or Monocypher;
 * - tcuq_verify_psa.h: a key in the PSA Crypto store of Mbed TLS or of the chip, symmetric or public. */
#ifndef TCUQ_VERIFY_H
#define TCUQ_VERIFY_H

#include "tcuq_tag.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_SIGNATURE_BYTES 64u /* of Ed25519, and of ECDSA with P-256 */

typedef enum {
    TCUQ_VERDICT_TRUE = 0,  /* signed by the key that the blob names */
    TCUQ_VERDICT_FALSE = 1, /* not signed by it, or the key is unknown */
    TCUQ_VERDICT_BUSY = 2   /* no answer: a secure element is busy or fails; no profile is given up for that */
} tcuq_verdict;

/* Bytes and what is said to sign them. */
typedef struct {
    const uint8_t *bytes;
    const uint8_t *tag;
    uint32_t size;
    uint8_t tag_bytes; /* TCUQ_TAG_BYTES of an HMAC, TCUQ_SIGNATURE_BYTES of a signature; any other in a forged blob */
    uint8_t key;       /* its number */
} tcuq_signed_blob;

typedef tcuq_verdict (*tcuq_verify)(void *context, const tcuq_signed_blob *blob);

/* Keys that a device knows: two while they are rotated, else one. */
typedef struct {
    tcuq_mac mac;
    void *context; /* of mac */
    uint8_t number;
} tcuq_hmac_key;

typedef struct {
    const tcuq_hmac_key *keys;
    uint8_t count;
} tcuq_hmac_keys;

/* A tcuq_verify by HMAC-SHA-256. A mac that may fail needs a tcuq_verify of the caller's.
 * context: const tcuq_hmac_keys *. blob: signed bytes, whose tag may be any. */
tcuq_verdict tcuq_verify_hmac(void *context, const tcuq_signed_blob *blob);

#ifdef __cplusplus
}
#endif

#endif
