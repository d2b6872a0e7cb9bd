/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to records.bin the record of each golden state, in version 1 and in version 2, and its signed
 * acknowledgement. A real device holds its own key alone; here it is derived from the master key, as the fleet
 * does. */
#include "hmac_sha256.h"
#include "records.h"
#include "semihosting.h"

#define INFO_BYTES 20u /* "tcuq record", the device, 1 */

/* HKDF-SHA-256 (RFC 5869), no salt, one block. */
static void derive_key(uint64_t device, uint8_t key[HMAC_SHA256_BYTES])
{
    static const uint8_t no_salt[HMAC_SHA256_BYTES] = {0u};
    uint8_t info[INFO_BYTES] = {'t', 'c', 'u', 'q', ' ', 'r', 'e', 'c', 'o', 'r', 'd'};
    uint8_t extracted[HMAC_SHA256_BYTES];
    for (uint32_t i = 0u; i < 8u; i++) {
        info[11u + i] = (uint8_t)(device >> (8u * i));
    }
    info[INFO_BYTES - 1u] = 1u;
    hmac_sha256(no_salt, sizeof no_salt, golden_master, sizeof golden_master, extracted);
    hmac_sha256(extracted, sizeof extracted, info, sizeof info, key);
}

static void sign(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    uint8_t mac[HMAC_SHA256_BYTES];
    hmac_sha256(context, HMAC_SHA256_BYTES, bytes, size, mac);
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        tag[i] = mac[i];
    }
}

/* The store's answer to a record of version 2, which the device must take for authentic. */
static bool write_ack(int32_t to, const uint8_t *record, uint8_t *key)
{
    uint8_t ack[TCUQ_SIGNED_ACK_BYTES];
    for (uint32_t i = 0u; i < 8u; i++) {
        ack[i] = record[2u + i];
        ack[8u + i] = record[18u + i];
    }
    ack[TCUQ_ACK_BYTES] = golden_key;
    sign(key, ack, TCUQ_ACK_BYTES + 1u, &ack[TCUQ_ACK_BYTES + 1u]);
    return tcuq_ack_is_authentic(ack, golden_key, sign, key) &&
           (semihosting_write(to, ack, TCUQ_SIGNED_ACK_BYTES) == 0);
}

static bool write_record(int32_t to, const golden_state *golden)
{
    tcuq_core core = golden->core;
    tcuq_telemetry telemetry = golden->telemetry;
    tcuq_channel_state channels[TCUQ_MAX_CHANNELS];
    const tcuq_profile profile = {
        .hash = golden->profile, .channels = golden->blocks, .channel_count = golden->channel_count};
    const tcuq_monitor monitor = {
        .profile = &profile, .core = &core, .channels = channels, .telemetry = &telemetry};
    uint8_t record[TCUQ_SIGNED_BYTES];
    uint8_t key[HMAC_SHA256_BYTES];
    for (uint32_t i = 0u; i < TCUQ_MAX_CHANNELS; i++) {
        channels[i] = golden->channels[i];
    }
    derive_key(golden->identity.device, key);
    return (tcuq_record(&monitor, &golden->identity, record, TCUQ_RECORD_BYTES) == TCUQ_OK) &&
           (semihosting_write(to, record, TCUQ_RECORD_BYTES) == 0) &&
           (tcuq_sign_record(record, golden_key, sign, key, record, sizeof record) == TCUQ_UPLINK_OK) &&
           (semihosting_write(to, record, TCUQ_SIGNED_BYTES) == 0) && write_ack(to, record, key);
}

int main(void)
{
    const int32_t to = semihosting_open("records.bin", FILE_WRITE);
    if (to < 0) {
        return EXIT_FILE;
    }
    for (uint32_t i = 0u; i < golden_count; i++) {
        if (!write_record(to, &golden_states[i])) {
            return EXIT_STATE;
        }
    }
    return (semihosting_close(to) == 0) ? EXIT_DONE : EXIT_FILE;
}
