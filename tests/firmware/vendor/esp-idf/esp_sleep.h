/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_SLEEP_H
#define ESP_SLEEP_H

#include <stdint.h>

typedef enum {
    ESP_SLEEP_WAKEUP_UNDEFINED,
    ESP_SLEEP_WAKEUP_ALL,
    ESP_SLEEP_WAKEUP_EXT0,
    ESP_SLEEP_WAKEUP_EXT1,
    ESP_SLEEP_WAKEUP_TIMER,
} esp_sleep_source_t;

uint32_t esp_sleep_get_wakeup_causes(void);
void esp_deep_sleep(uint64_t time_in_us) __attribute__((noreturn));

#endif
