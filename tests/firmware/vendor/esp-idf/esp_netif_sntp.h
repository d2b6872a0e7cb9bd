/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_NETIF_SNTP_H
#define ESP_NETIF_SNTP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>

#include "esp_err.h"

#define CONFIG_LWIP_SNTP_MAX_SERVERS 1

typedef enum { IP_EVENT_STA_GOT_IP } ip_event_t;
typedef void (*esp_sntp_time_cb_t)(struct timeval *tv);

typedef struct esp_sntp_config {
    bool smooth_sync;
    bool server_from_dhcp;
    bool wait_for_sync;
    bool start;
    esp_sntp_time_cb_t sync_cb;
    bool renew_servers_after_new_IP;
    ip_event_t ip_event_to_renew;
    size_t index_of_first_server;
    size_t num_of_servers;
    const char *servers[CONFIG_LWIP_SNTP_MAX_SERVERS];
} esp_sntp_config_t;

#define ESP_NETIF_SNTP_DEFAULT_CONFIG(server)                                                       \
    {                                                                                              \
        .wait_for_sync = true, .start = true, .ip_event_to_renew = IP_EVENT_STA_GOT_IP,            \
        .num_of_servers = 1, .servers = {server},                                                  \
    }

esp_err_t esp_netif_sntp_init(const esp_sntp_config_t *config);

#endif
