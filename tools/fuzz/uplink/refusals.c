/* SPDX-License-Identifier: Apache-2.0 */
/* Null pointers and buffers of a wrong size: refused by name, and nothing changes. */
#include "uplink_case.h"

static void check_init(const tcuq_uplink *sound)
{
    tcuq_uplink without[3];
    for (uint32_t i = 0u; i < 3u; i++) {
        without[i] = *sound;
    }
    without[0].state = NULL;
    without[1].records = NULL;
    without[2].send = NULL;
    MUST(tcuq_uplink_init(NULL) == TCUQ_ERROR_CONFIG);
    for (uint32_t i = 0u; i < 3u; i++) {
        MUST(tcuq_uplink_init(&without[i]) == TCUQ_ERROR_CONFIG);
    }
}

static void check_sign(void)
{
    uint8_t record[TCUQ_SIGNED_BYTES] = {3u};
    uint8_t to[TCUQ_SIGNED_BYTES] = {0u};
    MUST(tcuq_sign_record(record, 3u, mac, NULL, NULL, sizeof to) == TCUQ_ERROR_BUFFER);
    MUST(tcuq_sign_record(record, 3u, mac, NULL, to, sizeof to - 1u) == TCUQ_ERROR_BUFFER);
    MUST(tcuq_sign_record(NULL, 3u, mac, NULL, to, sizeof to) == TCUQ_ERROR_RECORD);
    MUST(tcuq_sign_record(record, 3u, NULL, NULL, to, sizeof to) == TCUQ_ERROR_RECORD);
    record[0] = 4u;
    MUST(tcuq_sign_record(record, 3u, mac, NULL, to, sizeof to) == TCUQ_ERROR_RECORD);
    MUST(to[0] == 0u);
    record[0] = 3u;
    MUST(tcuq_sign_record(record, 3u, mac, NULL, to, sizeof to) == TCUQ_OK);
    MUST((to[0] == 4u) && (to[93] == 3u));
}

void check_refusals(fuzz_uplink *on)
{
    static const tcuq_identity identity = {.firmware = 1u};
    tcuq_monitor uncounted = {.profile = &on->profile, .core = &on->core};
    const tcuq_uplink_state before = *on->state;
    tcuq_uplink *uplink = &on->uplink;
    check_init(uplink);
    check_sign();
    MUST(tcuq_uplink_record(uplink, &on->monitor, &identity, 0u) == TCUQ_ERROR_CONFIG);
    MUST(tcuq_uplink_begin(uplink, NULL, 0u) == TCUQ_ERROR_RECORD);
    MUST(tcuq_uplink_begin(uplink, &uncounted, 0u) == TCUQ_ERROR_RECORD);
    MUST(tcuq_uplink_record(uplink, NULL, &identity, 0u) == TCUQ_ERROR_RECORD);
    MUST(tcuq_uplink_record(uplink, &on->monitor, NULL, 0u) == TCUQ_ERROR_RECORD);
    MUST(tcuq_uplink_record(uplink, &uncounted, &identity, 0u) == TCUQ_ERROR_RECORD);
    MUST(tcuq_uplink_snapshot(uplink, NULL, on->size) == TCUQ_ERROR_BUFFER);
    MUST(tcuq_uplink_saved(uplink) == TCUQ_ERROR_UNSAVED);
    MUST(tcuq_uplink_restore(uplink, 0u, NULL, on->size) == TCUQ_ERROR_SNAPSHOT);
    MUST(tcuq_uplink_restore(uplink, 0u, on->sent, on->size - 1u) == TCUQ_ERROR_SNAPSHOT);
    MUST(tcuq_uplink_restore(uplink, uplink->pages, on->sent, 0u) == TCUQ_ERROR_CONFIG);
    MUST(tcuq_uplink_stored(uplink, NULL, TCUQ_ACK_BYTES, 0u) == TCUQ_ERROR_BUFFER);
    MUST(memcmp(&before, on->state, sizeof before) == 0);
}
