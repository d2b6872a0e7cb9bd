/* SPDX-License-Identifier: Apache-2.0 */
/* A device that obeys: one command a line, one line of answer, its status first. Every buffer is as large as
 * the header says and not a byte larger, so that a sanitizer sees what goes beyond. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcuq_uplink.h"

static tcuq_core core;
static tcuq_telemetry telemetry;
static tcuq_uplink_state state;
static const tcuq_profile profile = {.format = TCUQ_PROFILE_FORMAT, .hash = 0xABCDu};
static const tcuq_monitor monitor = {.profile = &profile, .core = &core, .telemetry = &telemetry};
static char sent[2u * TCUQ_SIGNED_BYTES + 1u];

static void to_hex(const uint8_t *bytes, uint32_t size, char *text)
{
    for (uint32_t i = 0u; i < size; i++) {
        (void)sprintf(&text[2u * i], "%02x", bytes[i]);
    }
}

/* Null for "-". The caller frees. */
static uint8_t *from_hex(const char *text, uint32_t *size)
{
    *size = (uint32_t)strlen(text) / 2u;
    uint8_t *bytes = (text[0] == '-') ? NULL : malloc(*size + 1u);
    for (uint32_t i = 0u; (bytes != NULL) && (i < *size); i++) {
        unsigned value = 0u;
        (void)sscanf(&text[2u * i], "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
    if (bytes != NULL) {
        uint8_t *exact = malloc(*size);
        memcpy(exact, bytes, *size);
        free(bytes);
        bytes = exact;
    }
    return bytes;
}

static bool send(void *context, const uint8_t *record, uint32_t size)
{
    (void)context;
    to_hex(record, size, sent);
    return false; /* nobody may rely on it */
}

static void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    (void)context;
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        tag[i] = (uint8_t)(bytes[i] + bytes[size - 1u - i]);
    }
}

static void snapshot_said(const tcuq_uplink *uplink)
{
    const uint32_t size = tcuq_uplink_size(uplink);
    uint8_t *bytes = malloc(size);
    char *text = malloc(2u * size + 1u);
    const tcuq_uplink_status status = tcuq_uplink_snapshot(uplink, bytes, size);
    to_hex(bytes, size, text);
    (void)printf("%d %" PRIu32 " %s\n", status, state.saves, text);
    free(text);
    free(bytes);
}

static tcuq_uplink_status restored(const tcuq_uplink *uplink, const char *one, const char *two)
{
    uint32_t first_size;
    uint32_t second_size;
    uint8_t *first = from_hex(one, &first_size);
    uint8_t *second = from_hex(two, &second_size);
    const uint32_t size = (first == NULL) ? second_size : first_size;
    const tcuq_uplink_status status = tcuq_uplink_restore(uplink, first, second, size);
    free(first);
    free(second);
    return status;
}

static tcuq_uplink_status acknowledged(const tcuq_uplink *uplink, const char *text, uint32_t now_s)
{
    uint32_t size;
    uint8_t *ack = from_hex(text, &size);
    const tcuq_uplink_status status = tcuq_uplink_stored(uplink, ack, size, now_s);
    free(ack);
    return status;
}

/* One command; false if it is none. */
static bool obeyed(const tcuq_uplink *uplink, const char *name, uint32_t now_s, const char *one,
                   const char *two)
{
    tcuq_uplink_status status = TCUQ_UPLINK_OK;
    sent[0] = '\0';
    if (strcmp(name, "init") == 0) {
        memset(uplink->records, 0xA5, (size_t)uplink->slots * uplink->record_bytes);
        memset(&state, 0xA5, sizeof state);
        status = tcuq_uplink_init(uplink);
    } else if (strcmp(name, "restore") == 0) {
        status = restored(uplink, one, two);
    } else if (strcmp(name, "begin") == 0) {
        status = tcuq_uplink_begin(uplink, &monitor, now_s);
    } else if (strcmp(name, "count") == 0) {
        telemetry.steps += now_s;
        telemetry.abstained += now_s / 2u;
        telemetry.denied += now_s / 3u;
        telemetry.exceeded += now_s / 4u;
        telemetry.alarms = (uint16_t)(telemetry.alarms + (now_s & 1u));
    } else if (strcmp(name, "record") == 0) {
        const tcuq_identity identity = {.firmware = 1u, .boot = 77u, .sequence = 77u};
        status = tcuq_uplink_record(uplink, &monitor, &identity, now_s);
    } else if (strcmp(name, "saved") == 0) {
        tcuq_uplink_saved(uplink);
    } else if (strcmp(name, "run") == 0) {
        status = tcuq_uplink_run(uplink, now_s);
    } else if (strcmp(name, "ack") == 0) {
        status = acknowledged(uplink, one, now_s);
    } else {
        return false;
    }
    (void)printf("%d %" PRIu32 " %" PRIu32 " %u %" PRIu32 " %" PRIu32 " %s\n", status, state.boot,
                 state.sequence, state.count, tcuq_uplink_wait_s(uplink, now_s),
                 tcuq_uplink_moment_s(uplink, now_s), sent);
    return true;
}

/* Arguments: device, slots, 1 for records of version 2. */
int main(int count, char **arguments)
{
    static char line[1u << 16];
    static char name[16];
    static char one[1u << 15];
    static char two[1u << 15];
    if (count != 4) {
        return 2;
    }
    const uint8_t slots = (uint8_t)atoi(arguments[2]);
    const bool is_signed = arguments[3][0] == '1';
    const uint8_t bytes = (uint8_t)(is_signed ? TCUQ_SIGNED_BYTES : TCUQ_RECORD_BYTES);
    const tcuq_uplink uplink = {
        .device = strtoull(arguments[1], NULL, 16), .interval_s = 3600u, .resend_s = 30u,
        .longest_s = 3600u, .send = send, .mac = is_signed ? mac : NULL, .key = 5u, .slots = slots,
        .record_bytes = bytes, .records = malloc((size_t)slots * bytes), .state = &state};
    while (fgets(line, sizeof line, stdin) != NULL) {
        uint32_t now_s = 0u;
        one[0] = '\0';
        two[0] = '\0';
        (void)sscanf(line, "%15s %" SCNu32 " %32767s %32767s", name, &now_s, one, two);
        if (strcmp(name, "snapshot") == 0) {
            snapshot_said(&uplink);
        } else if (!obeyed(&uplink, name, now_s, one, two)) {
            return 3;
        }
        (void)fflush(stdout);
    }
    free(uplink.records);
    return 0;
}
