/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the blob of a file and prints whether tables are read in place, and what loader and self-test say. */
#include <stdio.h>
#include <string.h>

#include "hmac_sha256.h"
#include "tcuq_device.h"

static uint64_t place[2048];

static void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    uint8_t key[32], whole[HMAC_SHA256_BYTES];
    (void)context;
    memset(key, 7, sizeof key);
    hmac_sha256(key, sizeof key, bytes, size, whole);
    memcpy(tag, whole, TCUQ_TAG_BYTES);
}

int main(int count, char **words)
{
    const tcuq_hmac_key key = {.mac = mac};
    const tcuq_hmac_keys keys = {.keys = &key, .count = 1u};
    tcuq_loader loader = {
        .room = &tcuq_device_room, .verify = tcuq_verify_hmac, .verify_context = (void *)&keys};
    const uint8_t *blob = (const uint8_t *)place;
    FILE *file = (count == 2) ? fopen(words[1], "rb") : NULL;
    if (file == NULL) {
        return 2;
    }
    const size_t size = fread(place, 1u, sizeof place, file);
    (void)fclose(file);
    const tcuq_status status = tcuq_blob_load(&loader, blob, (uint32_t)size, 1u);
    printf("%d %d %d\n", TCUQ_BLOB_IN_PLACE, (int)status, (int)tcuq_blob_selftest(&tcuq_device_ota, blob));
    return 0;
}
