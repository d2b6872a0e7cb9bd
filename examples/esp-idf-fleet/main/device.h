/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the device share: network and storage around the monitor and its uplink. */
#ifndef DEVICE_H
#define DEVICE_H

#include "tcuq_device.h"
#include "tcuq_uplink.h"

#define SLOTS 4u /* boots and closed epochs that may wait for a network */
#define PAGES 4u /* keys in NVS, each for one copy */

/* Seconds; they begin near 0 and jump when SNTP answers. The uplink takes differences only. */
uint32_t device_clock_s(void);

/* Initialises NVS, once per wake; false without it. Wi-Fi needs it too. */
bool storage_open(void);

/* Brings the network up, after storage_open; false without one. `device` names the topics. */
bool network_start(uint64_t device);
/* A tcuq_send: publishes with QoS 1. */
bool network_send(void *context, const uint8_t *record, uint32_t size);
/* Copies an acknowledgement that has come; false if none has. */
bool network_heard(uint8_t *acknowledgement);
/* Waits until an acknowledgement has come, at most so long. */
void network_wait(uint32_t seconds);

/* A tcuq_read_copy. */
bool storage_read(void *context, uint8_t page, uint8_t *bytes, uint32_t size);
/* A tcuq_write_copy. */
bool storage_write(void *context, uint8_t page, const uint8_t *bytes, uint32_t size);

#endif
