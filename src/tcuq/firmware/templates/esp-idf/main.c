/* SPDX-License-Identifier: Apache-2.0 */
/* A minimal application around the monitor. It is yours to change: a later export does not overwrite it. */
#include "esp_log.h"

#include "tcuq_device.h"

static const char *const TAG = "tcuq";
@INPUTS@

void app_main(void)
{
    const int32_t fault = tcuq_device_selftest();
    ESP_LOGI(TAG, "profile %s, self-test %d", TCUQ_DEVICE_PROFILE_SHA256, (int)fault);
    while ((fault == 0) && next_step()) {
        tcuq_decision decision;
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL,
                  (TCUQ_DEVICE_HEALTH > 0u) ? health : NULL, &decision);
        if (decision.withheld != 0u) {
            ESP_LOGW(TAG, "withheld: %s", ((decision.reason & TCUQ_REASON_DOUBT) != 0u) ? "doubtful" : "unusual");
        }
        if (decision.alarm != 0u) {
            ESP_LOGE(TAG, "alarm: the stream is no longer the one known so far");
        }
    }
}
