/* SPDX-License-Identifier: Apache-2.0 */
/* MQTT, and time from SNTP whenever it comes. Events arrive in the client's own task: an acknowledgement is handed
 * to the main task through a queue, because the uplink's functions are called from one task only. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "device.h"
#include "esp_event.h"
#include "esp_log.h"
#include "esp_netif.h"
#include "esp_netif_sntp.h"
#include "freertos/FreeRTOS.h"
#include "freertos/queue.h"
#include "freertos/semphr.h"
#include "mqtt_client.h"
#include "protocol_examples_common.h"

#define BROKER "mqtts://broker.example" /* yours; `.broker.verification.certificate` checks it */
#define SITE "site-1"
#define CONNECT_MS 10000u

static const char *const TAG = "network";
static esp_mqtt_client_handle_t client;
static QueueHandle_t acknowledgements;
static SemaphoreHandle_t connection;
static char record_topic[64];
static char stored_topic[64];

uint32_t device_clock_s(void)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL); /* goes on in deep sleep */
    return (uint32_t)now.tv_sec;
}

static void take_message(const esp_mqtt_event_t *event)
{
    uint8_t message[TCUQ_ACK_BYTES];
    if ((event->data_len == (int)sizeof message) && (event->total_data_len == event->data_len)) {
        memcpy(message, event->data, sizeof message);
        (void)xQueueSend(acknowledgements, message, 0); /* if it is full, the record is sent again */
    }
}

static void on_event(void *context, esp_event_base_t base, int32_t id, void *data)
{
    const esp_mqtt_event_t *event = data;
    (void)context;
    (void)base;
    if (id == MQTT_EVENT_CONNECTED) {
        (void)esp_mqtt_client_subscribe_single(client, stored_topic, 1);
        (void)xSemaphoreGive(connection);
    } else if (id == MQTT_EVENT_DATA) {
        take_message(event);
    } else {
        ESP_LOGD(TAG, "event %d", (int)id);
    }
}

bool network_start(uint64_t device)
{
    const esp_mqtt_client_config_t config = {
        .broker.address.uri = BROKER, .session.keepalive = 120, .network.timeout_ms = 5000};
    const esp_sntp_config_t sntp = ESP_NETIF_SNTP_DEFAULT_CONFIG("pool.ntp.org");
    (void)snprintf(record_topic, sizeof record_topic, "tcuq/%s/%016" PRIx64 "/record", SITE, device);
    (void)snprintf(stored_topic, sizeof stored_topic, "tcuq/%s/%016" PRIx64 "/stored", SITE, device);
    acknowledgements = xQueueCreate(2, TCUQ_ACK_BYTES);
    connection = xSemaphoreCreateBinary();
    if ((acknowledgements == NULL) || (connection == NULL) || (esp_netif_init() != ESP_OK) ||
        (esp_event_loop_create_default() != ESP_OK) || (example_connect() != ESP_OK)) {
        ESP_LOGW(TAG, "no network: records wait");
        return false;
    }
    (void)esp_netif_sntp_init(&sntp); /* nobody waits for it: the uplink bears a clock that is set late */
    client = esp_mqtt_client_init(&config);
    return (client != NULL) &&
           (esp_mqtt_client_register_event(client, MQTT_EVENT_ANY, on_event, NULL) == ESP_OK) &&
           (esp_mqtt_client_start(client) == ESP_OK) &&
           (xSemaphoreTake(connection, pdMS_TO_TICKS(CONNECT_MS)) == pdTRUE);
}

bool network_send(void *context, const uint8_t *record, uint32_t size)
{
    (void)context;
    return esp_mqtt_client_publish(client, record_topic, (const char *)record, (int)size, 1, 0) >= 0;
}

bool network_heard(uint8_t *acknowledgement)
{
    return (acknowledgements != NULL) && (xQueueReceive(acknowledgements, acknowledgement, 0) == pdTRUE);
}

void network_wait(uint32_t seconds)
{
    uint8_t message[TCUQ_ACK_BYTES];
    if (acknowledgements != NULL) {
        (void)xQueuePeek(acknowledgements, message, pdMS_TO_TICKS(1000u * seconds));
    }
}
