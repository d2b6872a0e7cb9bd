/* SPDX-License-Identifier: Apache-2.0 */
/* A battery device: wakes, runs the model a few times, sleeps deeply. The monitor's state and the uplink's stay in
 * RTC memory, so that a wake is no restart; NVS holds them through power cuts. */
#include "device.h"
#include "esp_attr.h"
#include "esp_log.h"
#include "esp_mac.h"
#include "esp_sleep.h"

#define FIRMWARE 0x01080000u /* 1.8.0 */
#define STEPS_PER_WAKE 60u
#define SLEEP_S 60u
#define WAKES_PER_HOUR 60u
#define AWAKE_MAGIC 0x54435551u

static const char *const TAG = "device";

/* Kept in deep sleep, lost without power. */
static RTC_DATA_ATTR uint32_t magic;
static RTC_DATA_ATTR uint8_t monitor_copy[TCUQ_DEVICE_SNAPSHOT_BYTES];
static RTC_DATA_ATTR uint8_t records[SLOTS * TCUQ_RECORD_BYTES];
static RTC_DATA_ATTR tcuq_uplink_state state;

static tcuq_uplink uplink = {
    .interval_s = 3600u, .least_steps = STEPS_PER_WAKE * WAKES_PER_HOUR / 16u * 15u, .first_s = 900u,
    .resend_s = 30u, .longest_s = 3600u, .send = network_send, .slots = SLOTS, .pages = PAGES,
    .record_bytes = TCUQ_RECORD_BYTES, .records = records, .state = &state};
static uint8_t copy[TCUQ_UPLINK_BYTES(SLOTS, TCUQ_RECORD_BYTES) + TCUQ_DEVICE_SNAPSHOT_BYTES];
static const tcuq_keeper keeper = {
    .uplink = &uplink, .monitor = &tcuq_device, .identity = {.firmware = FIRMWARE}, .read = storage_read,
    .write = storage_write, .buffer = copy, .size = sizeof copy};

static uint64_t device_number(void)
{
    uint8_t mac[8] = {0u};
    uint64_t number = 0u;
    (void)esp_efuse_mac_get_default(mac);
    for (uint8_t i = 0u; i < 6u; i++) {
        number = (number << 8) | mac[i];
    }
    return number;
}

/* Yours: the model's output of one step. */
static void run_model(uint8_t *posterior, int8_t *features)
{
    posterior[0] = 255u;
    features[0] = 0;
}

static void run_steps(void)
{
    static uint8_t posterior[TCUQ_DEVICE_CLASSES];
    static int8_t features[TCUQ_DEVICE_WIDTH + 1u];
    for (uint32_t i = 0u; i < STEPS_PER_WAKE; i++) {
        tcuq_decision decision;
        run_model(posterior, features);
        tcuq_step(&tcuq_device, posterior, features, NULL, &decision);
        if (decision.alarm != 0u) {
            ESP_LOGE(TAG, "alarm: the stream is no longer the one known so far");
        }
    }
}

/* After a power cut from NVS, after deep sleep from RTC memory; sleep is a gap in the stream. */
static bool restore_state(void)
{
    const bool slept = (magic == AWAKE_MAGIC) &&
                       ((esp_sleep_get_wakeup_causes() & (1u << ESP_SLEEP_WAKEUP_TIMER)) != 0u) &&
                       (tcuq_restore(&tcuq_device, monitor_copy, sizeof monitor_copy) == TCUQ_OK);
    if (slept) {
        tcuq_reset_history(&tcuq_device);
        return true;
    }
    return tcuq_keeper_begin(&keeper, device_clock_s()) == TCUQ_OK;
}

static void communicate(void)
{
    uint8_t acknowledgement[TCUQ_ACK_BYTES];
    (void)tcuq_keeper_save(&keeper, device_clock_s());
    if ((tcuq_uplink_wait_s(&uplink, device_clock_s()) != 0u) || !storage_open() ||
        !network_start(uplink.device)) {
        return; /* nothing to send, or no way to: the radio stays off */
    }
    (void)tcuq_uplink_run(&uplink, device_clock_s());
    network_wait(10u); /* for the acknowledgement */
    while (network_heard(acknowledgement)) {
        (void)tcuq_uplink_stored(&uplink, acknowledgement, sizeof acknowledgement, device_clock_s());
    }
}

void app_main(void)
{
    uplink.device = device_number();
    if ((tcuq_device_selftest() != 0) || !restore_state()) {
        ESP_LOGE(TAG, "self-test failed: this build does not decide as the host does");
        return;
    }
    run_steps();
    communicate();
    magic = (tcuq_snapshot(&tcuq_device, monitor_copy, sizeof monitor_copy) == TCUQ_OK) ? AWAKE_MAGIC : 0u;
    esp_deep_sleep((uint64_t)SLEEP_S * 1000000u);
}
