/* SPDX-License-Identifier: Apache-2.0 */
#include "hmac_sha256.h"

#define BLOCK 64u

typedef struct {
    uint32_t state[8];
    uint8_t block[BLOCK];
    uint32_t filled;
    uint32_t total; /* bytes */
} sha256;

static const uint32_t rounds[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u,
};

static uint32_t turned(uint32_t value, uint32_t by)
{
    return (value >> by) | (value << (32u - by));
}

static void compress(sha256 *hash)
{
    uint32_t w[64];
    uint32_t s[8];
    for (uint32_t i = 0u; i < 16u; i++) {
        const uint8_t *at = &hash->block[4u * i];
        w[i] = ((uint32_t)at[0] << 24) | ((uint32_t)at[1] << 16) | ((uint32_t)at[2] << 8) | at[3];
    }
    for (uint32_t i = 16u; i < 64u; i++) {
        const uint32_t a = w[i - 15u];
        const uint32_t b = w[i - 2u];
        w[i] = w[i - 16u] + (turned(a, 7u) ^ turned(a, 18u) ^ (a >> 3)) + w[i - 7u] +
               (turned(b, 17u) ^ turned(b, 19u) ^ (b >> 10));
    }
    for (uint32_t i = 0u; i < 8u; i++) {
        s[i] = hash->state[i];
    }
    for (uint32_t i = 0u; i < 64u; i++) {
        const uint32_t one = s[7] + (turned(s[4], 6u) ^ turned(s[4], 11u) ^ turned(s[4], 25u)) +
                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + w[i];
        const uint32_t two = (turned(s[0], 2u) ^ turned(s[0], 13u) ^ turned(s[0], 22u)) +
                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (uint32_t j = 7u; j > 0u; j--) {
            s[j] = s[j - 1u];
        }
        s[4] += one;
        s[0] = one + two;
    }
    for (uint32_t i = 0u; i < 8u; i++) {
        hash->state[i] += s[i];
    }
    hash->filled = 0u;
}

static void begin(sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    for (uint32_t i = 0u; i < 8u; i++) {
        hash->state[i] = start[i];
    }
    hash->filled = 0u;
    hash->total = 0u;
}

static void take(sha256 *hash, const uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0u; i < size; i++) {
        hash->block[hash->filled] = bytes[i];
        hash->filled++;
        if (hash->filled == BLOCK) {
            compress(hash);
        }
    }
    hash->total += size;
}

static void end(sha256 *hash, uint8_t *digest)
{
    static const uint8_t padding[BLOCK] = {0x80u};
    const uint32_t bits = 8u * hash->total; /* of messages below half a gigabyte */
    const uint32_t room = (hash->filled < 56u) ? 56u - hash->filled : 120u - hash->filled;
    const uint8_t length[8] = {0u, 0u, 0u, 0u, (uint8_t)(bits >> 24), (uint8_t)(bits >> 16),
                               (uint8_t)(bits >> 8), (uint8_t)bits};
    take(hash, padding, room);
    take(hash, length, sizeof length);
    for (uint32_t i = 0u; i < HMAC_SHA256_BYTES; i++) {
        digest[i] = (uint8_t)(hash->state[i / 4u] >> (24u - 8u * (i % 4u)));
    }
}

void hmac_sha256(const uint8_t *key, uint32_t key_size, const uint8_t *bytes, uint32_t size,
                 uint8_t mac[HMAC_SHA256_BYTES])
{
    uint8_t block[BLOCK] = {0u};
    sha256 hash;
    begin(&hash);
    if (key_size > BLOCK) {
        take(&hash, key, key_size);
        end(&hash, block);
        begin(&hash);
    } else {
        for (uint32_t i = 0u; i < key_size; i++) {
            block[i] = key[i];
        }
    }
    for (uint32_t i = 0u; i < BLOCK; i++) {
        block[i] ^= 0x36u;
    }
    take(&hash, block, BLOCK);
    take(&hash, bytes, size);
    end(&hash, mac);
    for (uint32_t i = 0u; i < BLOCK; i++) {
        block[i] ^= 0x36u ^ 0x5cu;
    }
    begin(&hash);
    take(&hash, block, BLOCK);
    take(&hash, mac, HMAC_SHA256_BYTES);
    end(&hash, mac);
}
