/* SPDX-License-Identifier: Apache-2.0 */
/* Many simulated devices, tcuq.fleet.simulate._simulator: what its files share. It is built for hosts and never
 * flashed. Risks and block sums are drawn; threshold, budget, alarm, telemetry, record and uplink are the
 * device's own code. Everything but the network follows from the seed. */
#ifndef SIMULATOR_H
#define SIMULATOR_H

#include "tcuq_internal.h"
#include "tcuq_uplink.h"

#define CHANNELS 4u
#define COUNTERS 5u
#define HOUR_S 3600u
#define NEVER UINT32_MAX
#define LEVELS 4096u /* of a risk law: its quantiles */

/* What all devices have in common. */
typedef struct {
    uint64_t seed;
    uint32_t hours;            /* records a device makes */
    uint32_t steps;            /* between two records */
    uint32_t block;            /* steps between two bets */
    uint32_t records_per_epoch;
    uint32_t reboot_q32;       /* chance of a restart between two records */
    uint32_t sharing_q16;      /* chance that a cohort's draw replaces a device's own, each block */
    uint16_t resend_s;
    uint16_t longest_s;
    uint8_t slots;
} plan;

/* What a device is; given, never changed. */
typedef struct {
    uint64_t id;
    uint32_t profile;
    uint32_t firmware;
    uint32_t cohort;
    uint32_t drifts_from; /* hour */
} described;

typedef struct {
    described is;
    tcuq_core core;
    tcuq_channel_state channels[CHANNELS];
    tcuq_telemetry telemetry;
    tcuq_uplink_state uplink;
    uint64_t random;
    uint64_t ended[COUNTERS];  /* of boots that are over: the sums of their newest records */
    uint32_t newest[COUNTERS]; /* of the present boot's newest record */
    uint32_t last_boot;        /* of its last record */
    uint32_t last_sequence;
    uint32_t hour;             /* records made, or refused because no slot was free */
    uint32_t taken;            /* steps of the block so far */
    uint32_t refused;
    uint8_t severity;          /* of its drift: the share of bets that see it, in 1/256 */
    uint8_t *records;          /* its slots */
} simulated;

typedef struct {
    uint8_t *records;
    uint32_t *devices;
    uint32_t device; /* whose turn it is */
    uint32_t count;
} outgoing;

typedef struct {
    plan plan;
    uint16_t calm[LEVELS];
    uint16_t drifted[LEVELS];
    tcuq_profile profile;
    uint32_t count;
    uint32_t cursor;  /* where advance goes on */
    uint32_t *due_s;  /* of each device: its next record or sending */
    uint32_t *places; /* a hash table from ids to devices, NEVER: empty */
    uint32_t mask;
    uint8_t *slots;
    uint8_t *saved; /* scratch: a snapshot of an uplink */
    simulated *devices;
    outgoing out;
} fleet;

/* law.c */
uint64_t mixed(uint64_t value);
uint64_t drawn(uint64_t *random);
void laws_made(fleet *all);
void steps_run(const fleet *all, simulated *one, const tcuq_monitor *monitor, uint32_t steps);

/* devices.c */
void device_started(fleet *all, uint32_t device, const described *is);
void device_runs(fleet *all, uint32_t device, uint32_t now_s);
tcuq_uplink_status device_stored(fleet *all, uint32_t device, const uint8_t *ack, uint32_t now_s);
uint32_t device_of(const fleet *all, uint64_t id);

#endif
