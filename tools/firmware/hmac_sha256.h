/* SPDX-License-Identifier: Apache-2.0 */
/* HMAC-SHA-256 (RFC 2104, FIPS 180-4) in plain C, for firmware that has no crypto library or engine. */
#ifndef HMAC_SHA256_H
#define HMAC_SHA256_H

#include <stdint.h>

#define HMAC_SHA256_BYTES 32u

void hmac_sha256(const uint8_t *key, uint32_t key_size, const uint8_t *bytes, uint32_t size,
                 uint8_t mac[HMAC_SHA256_BYTES]);

#endif
