/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the device share: network and storage around the monitor and its uplink. */
#ifndef DEVICE_H
#define DEVICE_H

#include "tcuq_device.h"
#include "tcuq_uplink.h"

#define SLOTS 4u /* boots and closed epochs that may wait for a network */
#define PAGES 4u /* entries in NVS, each for one copy */

/* Seconds; they begin near 0 and jump when SNTP answers. The uplink takes differences only. */
uint32_t device_clock_s(void);

/* Names the topics; `device` is the uplink's. */
void network_name(uint64_t device);
/* A tcuq_send: connects if it must, and publishes with QoS 1. */
bool network_send(void *context, const uint8_t *record, uint32_t size);
/* Reads what came within so many milliseconds; copies an acknowledgement, or false if there is none. */
bool network_heard(uint8_t *acknowledgement, int milliseconds);
/* Ends the connection, for the time of sleep. */
void network_stop(void);

/* Mounts NVS; without it nothing is restored, saved or sent. */
void storage_mount(void);
/* A tcuq_read_copy. */
bool storage_read(void *context, uint8_t page, uint8_t *bytes, uint32_t size);
/* A tcuq_write_copy. */
bool storage_write(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

#endif
