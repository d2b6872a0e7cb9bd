/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_MAC_H
#define ESP_MAC_H

#include <stdint.h>

#include "esp_err.h"

esp_err_t esp_efuse_mac_get_default(uint8_t *mac);

#endif
