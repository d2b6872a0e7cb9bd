/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_EVENT_H
#define ESP_EVENT_H

#include <stdint.h>

#include "esp_err.h"

typedef const char *esp_event_base_t;
typedef void (*esp_event_handler_t)(void *event_handler_arg, esp_event_base_t event_base,
                                    int32_t event_id, void *event_data);

esp_err_t esp_event_loop_create_default(void);

#endif
