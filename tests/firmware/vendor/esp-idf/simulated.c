/* SPDX-License-Identifier: Apache-2.0 */
/* An ESP32's day for the host: each wake is a process of its own, which starts with RTC memory as the one before left
 * it; NVS, broker and clock live in memory that all share. Prints what reached the broker and flash. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "esp_err.h"
#include "esp_event.h"
#include "esp_mac.h"
#include "esp_netif.h"
#include "esp_netif_sntp.h"
#include "esp_sleep.h"
#include "freertos/semphr.h"
#include "mqtt_client.h"
#include "nvs_flash.h"
#include "protocol_examples_common.h"

#define WAKES 240u
#define POWER_CUT 120u /* before this wake RTC memory is lost, and the clock starts again */
#define ACK_BYTES 16

extern uint8_t __start_rtc_data[];
extern uint8_t __stop_rtc_data[];
void app_main(void);
int simulated_gettimeofday(struct timeval *now, void *zone);

typedef struct {
    uint8_t rtc[4096];
    uint8_t pages[4][2048];
    size_t sizes[4];
    uint32_t clock_s, writes, published, radios;
    uint8_t boots[64], sequences[64];
    bool timer, set;
} world;

static world *shared;
static esp_event_handler_t handler;
static uint8_t queue[ACK_BYTES];
static bool queued;
static bool nvs_ready, netif_ready, events_ready, connected; /* of one wake: deep sleep ends all of it */
static const struct QueueDefinition *const SOME = (const struct QueueDefinition *)&queue;

int simulated_gettimeofday(struct timeval *now, void *zone)
{
    (void)zone;
    now->tv_sec = (time_t)shared->clock_s;
    now->tv_usec = 0;
    return 0;
}

const char *esp_err_to_name(esp_err_t code) { return (code == ESP_OK) ? "ESP_OK" : "error"; }

/* As ESP_ERROR_CHECK, by which the SDK ends a program that calls it too early. */
static void must(bool holds, const char *rule)
{
    if (!holds) {
        (void)fprintf(stderr, "abort: %s\n", rule);
        abort();
    }
}

esp_err_t nvs_flash_init(void)
{
    nvs_ready = true;
    return ESP_OK;
}

esp_err_t nvs_flash_erase(void)
{
    nvs_ready = false;
    return ESP_OK;
}

esp_err_t nvs_commit(nvs_handle_t handle) { return (nvs_ready && (handle == 7u)) ? ESP_OK : ESP_FAIL; }

esp_err_t esp_netif_init(void)
{
    netif_ready = true;
    return ESP_OK;
}

esp_err_t esp_event_loop_create_default(void)
{
    const bool first = !events_ready;
    events_ready = true;
    return first ? ESP_OK : ESP_ERR_INVALID_STATE;
}

esp_err_t nvs_open(const char *namespace_name, nvs_open_mode_t open_mode, nvs_handle_t *out_handle)
{
    *out_handle = 7u;
    if (!nvs_ready) {
        return ESP_ERR_NVS_NOT_INITIALIZED;
    }
    return ((strlen(namespace_name) < 16u) && (open_mode == NVS_READWRITE)) ? ESP_OK : ESP_FAIL;
}

esp_err_t nvs_set_blob(nvs_handle_t handle, const char *key, const void *value, size_t length)
{
    const int page = key[4] - '0';
    (void)handle;
    must(nvs_ready, "nvs_set_blob before nvs_flash_init");
    memcpy(shared->pages[page], value, length);
    shared->sizes[page] = length;
    shared->writes++;
    return ESP_OK;
}

esp_err_t nvs_get_blob(nvs_handle_t handle, const char *key, void *out_value, size_t *length)
{
    const int page = key[4] - '0';
    (void)handle;
    if ((shared->sizes[page] == 0u) || (shared->sizes[page] > *length)) {
        return ESP_ERR_NVS_NOT_FOUND;
    }
    *length = shared->sizes[page];
    memcpy(out_value, shared->pages[page], *length);
    return ESP_OK;
}

esp_err_t example_connect(void)
{
    must(nvs_ready, "Wi-Fi before nvs_flash_init");
    must(netif_ready, "Wi-Fi before esp_netif_init");
    must(events_ready, "Wi-Fi before esp_event_loop_create_default");
    must(!connected, "example_connect twice");
    connected = true;
    shared->radios++;
    return ESP_OK;
}

esp_err_t esp_netif_sntp_init(const esp_sntp_config_t *config)
{
    must(netif_ready, "SNTP before esp_netif_init");
    if (!shared->set && (config->num_of_servers == 1u)) { /* the clock jumps by decades */
        shared->set = true;
        shared->clock_s += 1700000000u;
    }
    return ESP_OK;
}

esp_err_t esp_efuse_mac_get_default(uint8_t *mac)
{
    memcpy(mac, "\x24\x0a\xc4\x01\x02\x03", 6);
    return ESP_OK;
}

esp_mqtt_client_handle_t esp_mqtt_client_init(const esp_mqtt_client_config_t *config)
{
    return (config->broker.address.uri != NULL) ? (esp_mqtt_client_handle_t)(uintptr_t)&queue : NULL;
}

esp_err_t esp_mqtt_client_register_event(esp_mqtt_client_handle_t client, esp_mqtt_event_id_t event,
                                         esp_event_handler_t event_handler, void *event_handler_arg)
{
    (void)client;
    (void)event;
    (void)event_handler_arg;
    handler = event_handler;
    return ESP_OK;
}

esp_err_t esp_mqtt_client_start(esp_mqtt_client_handle_t client)
{
    esp_mqtt_event_t event = {.event_id = MQTT_EVENT_CONNECTED, .client = client};
    must(connected, "MQTT without a network");
    handler(NULL, "MQTT_EVENTS", MQTT_EVENT_CONNECTED, &event);
    return ESP_OK;
}

int esp_mqtt_client_subscribe_single(esp_mqtt_client_handle_t client, const char *topic, int qos)
{
    (void)client;
    return ((strcmp(topic, "tcuq/site-1/0000240ac4010203/stored") == 0) && (qos == 1)) ? 1 : -1;
}

/* A store that answers at once. */
int esp_mqtt_client_publish(esp_mqtt_client_handle_t client, const char *topic, const char *data, int len,
                            int qos, int retain)
{
    char answer[ACK_BYTES];
    esp_mqtt_event_t event = {.event_id = MQTT_EVENT_DATA, .client = client, .data = answer,
                              .data_len = ACK_BYTES, .total_data_len = ACK_BYTES};
    if ((strcmp(topic, "tcuq/site-1/0000240ac4010203/record") != 0) || (len != 97) || (qos != 1) || (retain != 0)) {
        return -1;
    }
    shared->boots[shared->published] = (uint8_t)data[18];
    shared->sequences[shared->published] = (uint8_t)data[22];
    shared->published++;
    memcpy(answer, &data[2], 8);
    memcpy(&answer[8], &data[18], 8);
    handler(NULL, "MQTT_EVENTS", MQTT_EVENT_DATA, &event);
    return 1;
}

QueueHandle_t xQueueGenericCreate(const UBaseType_t uxQueueLength, const UBaseType_t uxItemSize,
                                  const uint8_t ucQueueType)
{
    (void)uxQueueLength;
    (void)uxItemSize;
    (void)ucQueueType;
    return (QueueHandle_t)(uintptr_t)SOME;
}

BaseType_t xQueueGenericSend(QueueHandle_t xQueue, const void *const pvItemToQueue, TickType_t xTicksToWait,
                             const BaseType_t xCopyPosition)
{
    (void)xQueue;
    (void)xTicksToWait;
    (void)xCopyPosition;
    if (pvItemToQueue != NULL) {
        memcpy(queue, pvItemToQueue, sizeof queue);
        queued = true;
    }
    return pdTRUE;
}

BaseType_t xQueuePeek(QueueHandle_t xQueue, void *const pvBuffer, TickType_t xTicksToWait)
{
    (void)xQueue;
    (void)xTicksToWait;
    memcpy(pvBuffer, queue, sizeof queue);
    return queued ? pdTRUE : 0;
}

BaseType_t xQueueReceive(QueueHandle_t xQueue, void *const pvBuffer, TickType_t xTicksToWait)
{
    const BaseType_t given = xQueuePeek(xQueue, pvBuffer, xTicksToWait);
    queued = false;
    return given;
}

BaseType_t xQueueSemaphoreTake(QueueHandle_t xQueue, TickType_t xTicksToWait)
{
    (void)xQueue;
    (void)xTicksToWait;
    return pdTRUE;
}

uint32_t esp_sleep_get_wakeup_causes(void)
{
    return 1u << (shared->timer ? ESP_SLEEP_WAKEUP_TIMER : ESP_SLEEP_WAKEUP_UNDEFINED);
}

void esp_deep_sleep(uint64_t time_in_us)
{
    memcpy(shared->rtc, __start_rtc_data, (size_t)(__stop_rtc_data - __start_rtc_data));
    shared->clock_s += (uint32_t)(time_in_us / 1000000u);
    shared->timer = true;
    _exit(0);
}

int main(void)
{
    const size_t rtc_bytes = (size_t)(__stop_rtc_data - __start_rtc_data);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if ((shared == MAP_FAILED) || (rtc_bytes > sizeof shared->rtc)) {
        return 2;
    }
    for (uint32_t wake = 0u; wake < WAKES; wake++) {
        int status = 0;
        if (wake == POWER_CUT) {
            memset(shared->rtc, 0, sizeof shared->rtc);
            shared->timer = false;
            shared->set = false;
            shared->clock_s = 0u;
        }
        const pid_t child = fork();
        if (child == 0) {
            memcpy(__start_rtc_data, shared->rtc, rtc_bytes);
            app_main();
            _exit(1); /* it did not sleep */
        }
        if ((waitpid(child, &status, 0) != child) || (status != 0)) {
            return 3;
        }
    }
    for (uint32_t i = 0u; i < shared->published; i++) {
        printf("boot %u sequence %u\n", shared->boots[i], shared->sequences[i]);
    }
    printf("writes %u radios %u\n", (unsigned)shared->writes, (unsigned)shared->radios);
    return 0;
}
