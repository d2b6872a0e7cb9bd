/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal application around the monitor; yours to change, an export again leaves it alone. */
#include "esp_log.h"

#include "tcuq_device.h"

static const char *const TAG = "tcuq";
static uint8_t posterior[TCUQ_DEVICE_CLASSES];
static int8_t features[TCUQ_DEVICE_FEATURE_BYTES];

/* Yours: what the network said of the newest input, quantised as the README says; false: no more. */
static bool next_step(void)
{
    posterior[0] = 0u;
    features[0] = 0;
    return false;
}

void app_main(void)
{
    const int32_t fault = tcuq_device_selftest();
    ESP_LOGI(TAG, "profile %s, self-test %d", TCUQ_DEVICE_PROFILE_SHA256, (int)fault);
    while ((fault == 0) && next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL, &decision);
        if (decision.outcome != TCUQ_ACCEPT) {
            ESP_LOGW(TAG, "%s", (decision.outcome == TCUQ_ABSTAIN) ? "abstain" : "budget spent");
        }
        if (decision.alarm != 0u) {
            ESP_LOGE(TAG, "alarm: this is not the stream that was calibrated on");
        }
    }
}
