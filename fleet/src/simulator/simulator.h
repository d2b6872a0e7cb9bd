/* SPDX-License-Identifier: Apache-2.0 */
/* The device simulator, tcuq_fleet.simulate._simulator: declarations that its files share. It is built for hosts
 * and never flashed. Risks and block sums are random; threshold, budget, alarm, epoch, telemetry, snapshot, record
 * and uplink are the device's own code. The seed determines everything except the network. */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#include "tcuq_internal.h"
#include "tcuq_uplink_internal.h"

#define CHANNELS 4u
#define CLASSES 2u
#define COUNTERS 5u
#define HOUR_S 3600u
#define HOURS_PER_DAY 24u
#define NEVER UINT32_MAX
#define QUANTILES 4096u /* of a risk distribution */

/* What all devices have in common. */
typedef struct {
    uint64_t seed;
    uint32_t hours;            /* simulated */
    uint32_t on_hours;         /* per day that a device has power; it boots at the first of them */
    uint32_t steps;            /* between two records */
    uint32_t block;            /* steps between two bets */
    uint32_t epoch_steps;      /* of the profile */
    uint32_t reboot_q32;       /* probability of a reboot between two records */
    uint32_t sharing_q16;      /* probability, per block, that a cohort's draw replaces a device's own */
    uint16_t resend_s;
    uint16_t longest_s;
    uint8_t slots;
} plan;

/* A device's constants. */
typedef struct {
    uint64_t id;
    uint32_t profile;
    uint32_t firmware;
    uint32_t cohort;
    uint32_t drifts_from; /* hour */
} device_info;

/* A simulated device. */
typedef struct {
    device_info info;
    tcuq_core core;
    tcuq_slot slot;
    uint8_t posterior[CLASSES];
    tcuq_channel_state channels[CHANNELS];
    tcuq_telemetry telemetry;
    tcuq_uplink_state uplink;
    uint64_t random;
    uint64_t past_boots[COUNTERS];   /* sums over past boots of their newest record's counters */
    uint32_t current_boot[COUNTERS]; /* counters of the current boot's newest record */
    uint32_t last_boot;              /* of its last record */
    uint32_t last_sequence;
    uint32_t hour;                   /* the next one */
    uint32_t block_steps;            /* steps of the current block */
    uint32_t refused;
    uint8_t severity;                /* of its drift: the share of blocks that drift, in 1/256 */
    uint8_t *records;                /* the uplink's slots */
} device;

/* The caller's arrays for records that devices send. */
typedef struct {
    uint8_t *records;
    uint32_t *devices;
    uint32_t device; /* the sender */
    uint32_t count;
} outbox;

typedef struct {
    plan plan;
    uint16_t null_risks[QUANTILES];
    uint16_t drift_risks[QUANTILES];
    int16_t null_odds_q10[QUANTILES]; /* of these risks */
    int16_t drift_odds_q10[QUANTILES];
    tcuq_channel channels[CHANNELS];
    tcuq_profile profile;
    uint32_t count;
    uint32_t cursor;   /* the device with which advance continues */
    uint32_t *due_s;   /* when each device next makes or sends a record */
    uint32_t *buckets; /* a hash table from ids to devices, NEVER: empty */
    uint32_t mask;
    uint8_t *slots;
    uint8_t *snapshot; /* scratch: an uplink's snapshot, then a monitor's */
    device *devices;
    outbox outbox;
} simulation;

/* null_distribution.c */
uint64_t mix64(uint64_t value);
uint64_t random_next(uint64_t *state);
void init_distributions(simulation *sim);
void run_steps(const simulation *sim, device *dev, const tcuq_monitor *monitor, uint32_t steps);

/* devices.c */
void start_device(simulation *sim, uint32_t index, const device_info *info);
void run_device(simulation *sim, uint32_t index, uint32_t now_s);
tcuq_status acknowledge_device(simulation *sim, uint32_t index, const uint8_t *ack, uint32_t now_s);
uint32_t find_device(const simulation *sim, uint64_t id);

#endif
