/* SPDX-License-Identifier: Apache-2.0 */
/* A battery device: runs the model once per second and sleeps in between; RAM stays, so that a wake is no restart.
 * NVS holds the state through power cuts. */
#include <zephyr/drivers/hwinfo.h>
#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>

#include "device.h"

LOG_MODULE_REGISTER(device);

#define FIRMWARE 0x01080000u /* 1.8.0 */
#define STEP_S 1
#define ANSWER_MS 2000

static uint8_t records[SLOTS * TCUQ_RECORD_BYTES];
static tcuq_uplink_state state;
static tcuq_uplink uplink = {
    .interval_s = 3600u, .least_steps = 3375u, .first_s = 900u, .resend_s = 30u, .longest_s = 3600u,
    .send = network_send, .slots = SLOTS, .pages = PAGES, .record_bytes = TCUQ_RECORD_BYTES,
    .records = records, .state = &state};
static uint8_t copy[TCUQ_UPLINK_BYTES(SLOTS, TCUQ_RECORD_BYTES) + TCUQ_DEVICE_SNAPSHOT_BYTES];
static const tcuq_keeper keeper = {
    .uplink = &uplink, .monitor = &tcuq_device, .identity = {.firmware = FIRMWARE}, .read = storage_read,
    .write = storage_write, .buffer = copy, .size = sizeof copy};

static uint64_t device_number(void)
{
    uint8_t id[16] = {0u};
    uint64_t number = 1469598103934665603u; /* a hash: ids of chips are longer than 64 bits */
    const ssize_t size = hwinfo_get_device_id(id, sizeof id);
    for (ssize_t i = 0; i < size; i++) {
        number = (number ^ id[i]) * 1099511628211u;
    }
    return number;
}

/* Yours: the model's output of one step. */
static void run_model(uint8_t *posterior, int8_t *features)
{
    posterior[0] = 255u;
    features[0] = 0;
}

static void communicate(void)
{
    uint8_t acknowledgement[TCUQ_ACK_BYTES];
    (void)tcuq_keeper_save(&keeper, device_clock_s());
    if (tcuq_uplink_run(&uplink, device_clock_s()) == TCUQ_OK) {
        while (network_heard(acknowledgement, ANSWER_MS)) {
            (void)tcuq_uplink_stored(&uplink, acknowledgement, sizeof acknowledgement, device_clock_s());
        }
    }
    if (tcuq_uplink_wait_s(&uplink, device_clock_s()) > 60u) {
        network_stop();
    }
}

int main(void)
{
    static uint8_t posterior[TCUQ_DEVICE_CLASSES];
    static int8_t features[TCUQ_DEVICE_WIDTH + 1u];
    uplink.device = device_number();
    network_name(uplink.device);
    if (tcuq_device_selftest() != 0) {
        LOG_ERR("self-test failed: this build does not decide as the host does");
        return 1;
    }
    storage_mount();
    const bool works = tcuq_keeper_begin(&keeper, device_clock_s()) == TCUQ_OK;
    while (works && (k_sleep(K_SECONDS(STEP_S)) == 0)) { /* the kernel chooses the deepest state that fits */
        tcuq_decision decision;
        run_model(posterior, features);
        tcuq_step(&tcuq_device, posterior, features, NULL, &decision);
        if (decision.alarm != 0u) {
            LOG_ERR("alarm: the stream is no longer the one known so far");
        }
        communicate();
    }
    return 0; /* woken by k_wakeup: the application stops */
}
