/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated devices: each makes one record in every hour that it is on, at its own send time, reboots at random and
 * when its power comes back, and sends. */
#include "simulator.h"

#include <string.h>

/* The firmware's view of a device: a monitor and an uplink over its memory. */
typedef struct {
    tcuq_monitor monitor;
    tcuq_uplink uplink;
} firmware;

static bool send_record(void *context, const uint8_t *record, uint32_t size)
{
    outbox *out = context;
    memcpy(&out->records[(size_t)out->count * size], record, size);
    out->devices[out->count] = out->device;
    out->count++;
    return true;
}

static firmware firmware_of(simulation *sim, uint32_t index)
{
    device *dev = &sim->devices[index];
    const firmware fw = {
        .monitor = {.profile = &sim->profile,
                    .core = &dev->core,
                    .slots = &dev->slot,
                    .posteriors = dev->posterior,
                    .channels = dev->channels,
                    .telemetry = &dev->telemetry},
        .uplink = {.device = dev->info.id,
                   .interval_s = HOUR_S,
                   .least_steps = TCUQ_UPLINK_CLOCK_ALONE,
                   .first_s = 2u, /* the simulator decides when records are made */
                   .resend_s = sim->plan.resend_s,
                   .longest_s = sim->plan.longest_s,
                   .send = send_record,
                   .send_context = &sim->outbox,
                   .slots = sim->plan.slots,
                   .pages = TCUQ_UPLINK_MIN_PAGES,
                   .record_bytes = TCUQ_RECORD_BYTES,
                   .records = dev->records,
                   .state = &dev->uplink},
    };
    sim->profile.hash = dev->info.profile;
    return fw;
}

/* The simulated firmware gives no call a reason to be refused. */
static void count_refusal(device *dev, tcuq_status status)
{
    dev->refused += (status == TCUQ_OK) ? 0u : 1u;
}

void start_device(simulation *sim, uint32_t index, const device_info *info)
{
    device *dev = &sim->devices[index];
    dev->info = *info;
    dev->records = &sim->slots[(size_t)index * sim->plan.slots * TCUQ_RECORD_BYTES];
    dev->random = mix64(sim->plan.seed ^ mix64(info->id));
    dev->severity = (uint8_t)(random_next(&dev->random) >> 56);
    firmware fw = firmware_of(sim, index);
    tcuq_reset(&fw.monitor);
    count_refusal(dev, tcuq_uplink_init(&fw.uplink));
    count_refusal(dev, tcuq_uplink_begin(&fw.uplink, &fw.monitor, 0u));
    sim->due_s[index] = (sim->plan.hours == 0u) ? NEVER : tcuq_place_s(&fw.uplink, HOUR_S);
    uint32_t bucket = (uint32_t)mix64(info->id) & sim->mask;
    while (sim->buckets[bucket] != NEVER) {
        bucket = (bucket + 1u) & sim->mask;
    }
    sim->buckets[bucket] = index;
}

uint32_t find_device(const simulation *sim, uint64_t id)
{
    uint32_t bucket = (uint32_t)mix64(id) & sim->mask;
    while ((sim->buckets[bucket] != NEVER) && (sim->devices[sim->buckets[bucket]].info.id != id)) {
        bucket = (bucket + 1u) & sim->mask;
    }
    return sim->buckets[bucket];
}

/* Reboot after a power failure: only the snapshots in flash are left, taken at the last record. */
static void reboot_device(simulation *sim, device *dev, firmware *fw, uint32_t now_s)
{
    const uint32_t size = tcuq_uplink_size(&fw->uplink);
    tcuq_uplink_encode(&fw->uplink, sim->snapshot);
    memset(dev->records, 0, (size_t)sim->plan.slots * TCUQ_RECORD_BYTES);
    count_refusal(dev, tcuq_uplink_init(&fw->uplink));
    count_refusal(dev, tcuq_uplink_restore(&fw->uplink, 0u, sim->snapshot, size));
    const uint32_t monitor_size = tcuq_snapshot_size(&fw->monitor);
    count_refusal(dev, tcuq_snapshot(&fw->monitor, sim->snapshot, monitor_size));
    tcuq_reset(&fw->monitor);
    (void)tcuq_restore(&fw->monitor, sim->snapshot, monitor_size);
    count_refusal(dev, tcuq_uplink_begin(&fw->uplink, &fw->monitor, now_s));
    for (uint32_t i = 0u; i < COUNTERS; i++) {
        dev->past_boots[i] += dev->current_boot[i];
        dev->current_boot[i] = 0u;
    }
}

static void make_record(device *dev, firmware *fw, uint32_t now_s)
{
    const tcuq_identity identity = {.firmware = dev->info.firmware};
    dev->uplink.due = TCUQ_DUE;
    if (tcuq_uplink_record(&fw->uplink, &fw->monitor, &identity, now_s) != TCUQ_OK) {
        dev->refused++;
        return;
    }
    dev->uplink.unsaved = TCUQ_SAVED; /* flash is written at once */
    dev->last_boot = dev->uplink.boot;
    dev->last_sequence = dev->uplink.sequence - 1u;
    const tcuq_telemetry *counters = &dev->telemetry;
    dev->current_boot[0] = counters->steps;
    dev->current_boot[1] = counters->abstained;
    dev->current_boot[2] = counters->denied;
    dev->current_boot[3] = counters->exceeded;
    dev->current_boot[4] = counters->alarms;
}

/* Whether a device has power in an hour: its day begins when a hash of its id says. */
static bool is_on(const simulation *sim, const device *dev, uint32_t hour)
{
    const uint32_t start = (uint32_t)(mix64(dev->info.id) % HOURS_PER_DAY);
    return (hour >= sim->plan.hours) || (((hour + start) % HOURS_PER_DAY) < sim->plan.on_hours);
}

/* Run one hour of a device, which ends with its record. In an hour with a random reboot the steps before it are
 * lost, as on a device. */
static void run_hour(simulation *sim, device *dev, firmware *fw, uint32_t now_s)
{
    uint32_t steps = sim->plan.steps;
    const uint64_t draw = random_next(&dev->random);
    if (!is_on(sim, dev, dev->hour)) {
        dev->hour++;
        return;
    }
    if ((uint32_t)draw < sim->plan.reboot_q32) {
        reboot_device(sim, dev, fw, now_s);
        steps -= (uint32_t)(((draw >> 32) * steps) >> 32);
    } else if ((dev->hour != 0u) && !is_on(sim, dev, dev->hour - 1u)) {
        reboot_device(sim, dev, fw, now_s);
    }
    run_steps(sim, dev, &fw->monitor, steps);
    make_record(dev, fw, now_s);
    dev->hour++;
}

/* Run a device until now: its hours, then at most one sending. */
void run_device(simulation *sim, uint32_t index, uint32_t now_s)
{
    device *dev = &sim->devices[index];
    firmware fw = firmware_of(sim, index);
    const uint32_t send_time_s = tcuq_place_s(&fw.uplink, HOUR_S);
    while ((dev->hour < sim->plan.hours) && ((dev->hour * HOUR_S + send_time_s) <= now_s)) {
        run_hour(sim, dev, &fw, dev->hour * HOUR_S + send_time_s);
    }
    const bool on = is_on(sim, dev, now_s / HOUR_S);
    sim->outbox.device = index;
    if (on) {
        (void)tcuq_uplink_run(&fw.uplink, now_s);
    } else {
        tcuq_time_pass(&fw.uplink, now_s);
    }
    uint32_t send_s = (dev->uplink.count == 0u) ? NEVER : now_s + dev->uplink.wait_s;
    if (!on && (send_s != NEVER)) { /* perhaps in the next hour */
        const uint32_t next_s = (now_s / HOUR_S + 1u) * HOUR_S;
        send_s = (send_s > next_s) ? send_s : next_s;
    }
    const uint32_t make_s = (dev->hour < sim->plan.hours) ? dev->hour * HOUR_S + send_time_s : NEVER;
    sim->due_s[index] = (make_s < send_s) ? make_s : send_s;
}

tcuq_status acknowledge_device(simulation *sim, uint32_t index, const uint8_t *ack, uint32_t now_s)
{
    device *dev = &sim->devices[index];
    firmware fw = firmware_of(sim, index);
    const tcuq_status status = tcuq_uplink_stored(&fw.uplink, ack, TCUQ_ACK_BYTES, now_s);
    if (status == TCUQ_NEW_BOOT) { /* repeat the last record under the new boot id */
        make_record(dev, &fw, now_s);
    }
    if ((dev->uplink.count != 0u) && ((now_s + dev->uplink.wait_s) < sim->due_s[index])) {
        sim->due_s[index] = now_s + dev->uplink.wait_s;
    }
    return status;
}
