/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_NETIF_H
#define ESP_NETIF_H

#include "esp_err.h"

esp_err_t esp_netif_init(void);

#endif
