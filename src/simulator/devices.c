/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated devices: each makes a record an hour at its own moment, restarts now and then, and sends. */
#include "simulator.h"

#include <string.h>

/* A device as its firmware has it: a monitor and an uplink over its memory. */
typedef struct {
    tcuq_monitor monitor;
    tcuq_uplink uplink;
} device;

static bool sent(void *context, const uint8_t *record, uint32_t size)
{
    outgoing *out = context;
    memcpy(&out->records[(size_t)out->count * size], record, size);
    out->devices[out->count] = out->device;
    out->count++;
    return true;
}

static device device_at(fleet *all, uint32_t at)
{
    simulated *one = &all->devices[at];
    const device made = {
        .monitor = {.profile = &all->profile,
                    .core = &one->core,
                    .channels = one->channels,
                    .telemetry = &one->telemetry},
        .uplink = {.device = one->is.id,
                   .interval_s = HOUR_S,
                   .resend_s = all->plan.resend_s,
                   .longest_s = all->plan.longest_s,
                   .send = sent,
                   .send_context = &all->out,
                   .slots = all->plan.slots,
                   .record_bytes = TCUQ_RECORD_BYTES,
                   .records = one->records,
                   .state = &one->uplink},
    };
    all->profile.hash = one->is.profile;
    return made;
}

void device_started(fleet *all, uint32_t at, const described *is)
{
    simulated *one = &all->devices[at];
    one->is = *is;
    one->records = &all->slots[(size_t)at * all->plan.slots * TCUQ_RECORD_BYTES];
    one->random = mixed(all->plan.seed ^ mixed(is->id));
    one->severity = (uint8_t)(drawn(&one->random) >> 56);
    const device made = device_at(all, at);
    tcuq_reset(&made.monitor);
    (void)tcuq_uplink_init(&made.uplink);
    (void)tcuq_uplink_begin(&made.uplink, &made.monitor, 0u);
    all->due_s[at] = (all->plan.hours == 0u) ? NEVER : tcuq_uplink_moment_s(&made.uplink, 0u);
    uint32_t place = (uint32_t)mixed(is->id) & all->mask;
    while (all->places[place] != NEVER) {
        place = (place + 1u) & all->mask;
    }
    all->places[place] = at;
}

uint32_t device_of(const fleet *all, uint64_t id)
{
    uint32_t place = (uint32_t)mixed(id) & all->mask;
    while ((all->places[place] != NEVER) && (all->devices[all->places[place]].is.id != id)) {
        place = (place + 1u) & all->mask;
    }
    return all->places[place];
}

/* The power fails: what is left is the snapshot in flash. */
static void device_restarts(fleet *all, simulated *one, const device *made, uint32_t now_s)
{
    const uint32_t size = tcuq_uplink_size(&made->uplink);
    (void)tcuq_uplink_snapshot(&made->uplink, all->saved, size);
    memset(one->records, 0, (size_t)all->plan.slots * TCUQ_RECORD_BYTES);
    (void)tcuq_uplink_init(&made->uplink);
    (void)tcuq_uplink_restore(&made->uplink, all->saved, NULL, size);
    tcuq_reset(&made->monitor);
    (void)tcuq_uplink_begin(&made->uplink, &made->monitor, now_s);
    for (uint32_t i = 0u; i < COUNTERS; i++) {
        one->ended[i] += one->newest[i];
        one->newest[i] = 0u;
    }
    one->taken = 0u;
}

static void record_made(simulated *one, const device *made, uint32_t epoch, uint32_t now_s)
{
    const tcuq_identity identity = {.firmware = one->is.firmware, .epoch = (uint16_t)epoch};
    if (tcuq_uplink_record(&made->uplink, &made->monitor, &identity, now_s) != TCUQ_UPLINK_OK) {
        one->refused++;
        return;
    }
    tcuq_uplink_saved(&made->uplink);
    one->last_boot = one->uplink.boot;
    one->last_sequence = one->uplink.sequence - 1u;
    const tcuq_telemetry *counted = &one->telemetry;
    one->newest[0] = counted->steps;
    one->newest[1] = counted->abstained;
    one->newest[2] = counted->denied;
    one->newest[3] = counted->exceeded;
    one->newest[4] = counted->alarms;
}

/* An hour of a device, which ends with its record. In an hour with a restart the steps before it are lost,
 * as on a device. */
static void hour_passes(fleet *all, simulated *one, const device *made, uint32_t now_s)
{
    uint32_t steps = all->plan.steps;
    if ((one->hour != 0u) && ((one->hour % all->plan.records_per_epoch) == 0u)) {
        tcuq_end_epoch(&made->monitor);
    }
    const uint64_t chance = drawn(&one->random);
    if ((uint32_t)chance < all->plan.reboot_q32) {
        device_restarts(all, one, made, now_s);
        steps -= (uint32_t)(((chance >> 32) * steps) >> 32);
    }
    steps_run(all, one, &made->monitor, steps);
    record_made(one, made, one->hour / all->plan.records_per_epoch, now_s);
    one->hour++;
}

/* What a device does until now: its hours, then at most one sending. */
void device_runs(fleet *all, uint32_t at, uint32_t now_s)
{
    simulated *one = &all->devices[at];
    const device made = device_at(all, at);
    const uint32_t moment_s = tcuq_uplink_moment_s(&made.uplink, 0u);
    while ((one->hour < all->plan.hours) && ((one->hour * HOUR_S + moment_s) <= now_s)) {
        hour_passes(all, one, &made, one->hour * HOUR_S + moment_s);
    }
    all->out.device = at;
    (void)tcuq_uplink_run(&made.uplink, now_s);
    const uint32_t wait_s = tcuq_uplink_wait_s(&made.uplink, now_s);
    const uint32_t send_s = (wait_s == TCUQ_UPLINK_IDLE) ? NEVER : now_s + wait_s;
    const uint32_t make_s = (one->hour < all->plan.hours) ? one->hour * HOUR_S + moment_s : NEVER;
    all->due_s[at] = (make_s < send_s) ? make_s : send_s;
}

tcuq_uplink_status device_stored(fleet *all, uint32_t at, const uint8_t *ack, uint32_t now_s)
{
    simulated *one = &all->devices[at];
    const device made = device_at(all, at);
    const tcuq_uplink_status status =
        tcuq_uplink_stored(&made.uplink, ack, TCUQ_ACK_BYTES, now_s);
    if (status == TCUQ_UPLINK_NEW_BOOT) { /* what the last record said is said again, under the new id */
        record_made(one, &made, (one->hour - 1u) / all->plan.records_per_epoch, now_s);
    }
    const uint32_t wait_s = tcuq_uplink_wait_s(&made.uplink, now_s);
    if ((wait_s != TCUQ_UPLINK_IDLE) && ((now_s + wait_s) < all->due_s[at])) {
        all->due_s[at] = now_s + wait_s;
    }
    return status;
}
