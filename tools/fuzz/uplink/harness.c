/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a configuration of the uplink and operations on it: a clock that may do anything, flash that fails, is torn
 * or damaged, an honest or a forging network, restarts. Sanitizers watch the uplink; what it promises beyond that is
 * checked in operations.c and after each operation in checks.c. */
#include "uplink_case.h"

#define OPERATIONS 400u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool send(void *context, const uint8_t *record, uint32_t size)
{
    fuzz_uplink *on = context;
    MUST(size == on->uplink.record_bytes);
    MUST(record == on->uplink.records);
    memcpy(on->sent, record, size);
    on->sendings++;
    return (on->sendings & 1u) != 0u;
}

void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag)
{
    (void)context;
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0u; i < size; i++) {
        hash = (uint32_t)((hash ^ bytes[i]) * (uint64_t)16777619u);
    }
    for (uint32_t i = 0u; i < TCUQ_TAG_BYTES; i++) {
        tag[i] = (uint8_t)(hash >> (i % 4u * 8u)) ^ (uint8_t)i;
    }
}

static void operate(fuzz_uplink *on, bytes *in)
{
    static const uint32_t jumps[8] = {0u, 1u, 30u, 450u, 1800u, 3600u, 5400u, UINT32_MAX};
    for (uint32_t i = 0u; (i < OPERATIONS) && (in->left != 0u); i++) {
        const uint8_t what = take8(in);
        switch (what & 7u) {
        case 0u:
        case 1u:
            on->now_s = ((what >> 3) == 31u) ? take32(in) : on->now_s + jumps[(what >> 3) & 7u];
            op_record(on);
            break;
        case 2u:
            if (op_save(on, in)) {
                op_restart(on, in);
            }
            break;
        case 3u:
            on->now_s += jumps[(what >> 3) & 7u];
            op_run(on);
            break;
        case 4u:
            op_stored(on, in);
            break;
        case 5u: {
            const uint32_t counted = (uint32_t)take8(in) << ((what >> 3) & 3u);
            on->telemetry.steps += counted;
            on->steps += counted;
            break;
        }
        case 6u:
            on->core.epoch = (uint16_t)(on->core.epoch + (what >> 3));
            break;
        default:
            if ((what >> 3) < 8u) {
                const uint32_t boot = on->state->boot;
                MUST((tcuq_uplink_begin(&on->uplink, &on->monitor, on->now_s) == TCUQ_OK) ||
                     (boot == UINT32_MAX));
                MUST(on->telemetry.steps == 0u || boot == UINT32_MAX);
            } else {
                op_restart(on, in);
            }
            break;
        }
        check_row(on);
        check_wait(on);
    }
}

/* One value of the configuration at or beyond its bound. */
static void change(tcuq_uplink *uplink, bytes *in)
{
    const uint8_t which = take8(in) % 10u;
    const uint8_t more = take8(in) % 4u;
    switch (which) {
    case 0u:
        uplink->slots = more;
        break;
    case 1u:
        uplink->pages = more;
        break;
    case 2u:
        uplink->first_s = more;
        break;
    case 3u:
        uplink->interval_s = 898u + more;
        break;
    case 4u:
        uplink->interval_s = 0x7FFFFFFEu + more;
        break;
    case 5u:
        uplink->resend_s = more;
        break;
    case 6u:
        uplink->longest_s = (uint16_t)(28u + more);
        break;
    case 7u:
        uplink->resend_s = 65535u;
        uplink->longest_s = (uint16_t)(65535u - more);
        break;
    case 8u:
        uplink->record_bytes = (uint8_t)((more == 0u) ? TCUQ_SIGNED_BYTES : TCUQ_RECORD_BYTES);
        break;
    default:
        uplink->least_steps = more;
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_uplink on;
    bytes in = {data, size};
    memset(&on, 0, sizeof on);
    const uint8_t flags = take8(&in);
    tcuq_uplink *uplink = &on.uplink;
    on.state = malloc(sizeof *on.state);
    on.profile = (tcuq_profile){.format = TCUQ_PROFILE_FORMAT, .classes = 2u, .lags = {1u}, .lag_count = 1u};
    on.monitor = (tcuq_monitor){.profile = &on.profile, .core = &on.core, .slots = &on.past,
                                .posteriors = on.posteriors, .telemetry = &on.telemetry};
    uplink->device = 0x1122334455667700u + flags;
    uplink->mac = ((flags & 1u) != 0u) ? mac : NULL;
    uplink->record_bytes = (uint8_t)(((flags & 1u) != 0u) ? TCUQ_SIGNED_BYTES : TCUQ_RECORD_BYTES);
    uplink->key = flags;
    uplink->slots = (uint8_t)(2u + ((flags >> 1) & 3u));
    uplink->pages = (uint8_t)(2u + ((flags >> 3) & 1u) + ((flags >> 4) & 1u));
    uplink->interval_s = 3600u;
    uplink->least_steps = ((flags & 32u) != 0u) ? 1000u : TCUQ_UPLINK_CLOCK_ALONE;
    uplink->first_s = 900u;
    uplink->resend_s = 30u;
    uplink->longest_s = 3600u;
    if (flags >= 192u) {
        change(uplink, &in);
    }
    on.uplink.send = send;
    on.uplink.send_context = &on;
    on.uplink.state = on.state;
    on.uplink.records = malloc((size_t)uplink->slots * uplink->record_bytes + ((uplink->slots == 0u) ? 1u : 0u));
    on.size = tcuq_uplink_size(uplink);
    on.good = NONE;
    const bool expected = follows_rules(uplink);
    MUST((tcuq_uplink_init(uplink) == TCUQ_OK) == expected);
    if (expected) {
        check_refusals(&on);
        check_keeper(&on);
        for (uint32_t i = 0u; i < MAX_PAGES; i++) {
            on.pages[i] = malloc(on.size);
            memset(on.pages[i], 0xFF, on.size);
        }
        MUST(tcuq_uplink_begin(uplink, &on.monitor, on.now_s) == TCUQ_OK);
        operate(&on, &in);
        for (uint32_t i = 0u; i < MAX_PAGES; i++) {
            free(on.pages[i]);
        }
    }
    free(on.uplink.records);
    free(on.state);
    return 0;
}
