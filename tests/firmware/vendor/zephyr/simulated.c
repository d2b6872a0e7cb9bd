/* SPDX-License-Identifier: Apache-2.0 */
/* A Zephyr board's four hours for the host: sleep advances the clock, the broker answers at once, SNTP answers late.
 * NVS is a file, so that a second run is a restart. Prints what reached the broker and flash. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/drivers/hwinfo.h>
#include <zephyr/kvss/nvs.h>
#include <zephyr/kernel.h>
#include <zephyr/net/mqtt.h>
#include <zephyr/net/sntp.h>
#include <zephyr/net/socket.h>
#include <zephyr/storage/flash_map.h>

#define HOURS 4
#define SNTP_AFTER_MS 5000000

const struct device storage_partition_device = {"flash"};

static int64_t uptime_ms;
static unsigned int writes;
static uint8_t answer[16];
static enum { NOTHING, CONNECT, ACKNOWLEDGE } pending;

int64_t k_uptime_get(void) { return uptime_ms; }
bool device_is_ready(const struct device *dev) { return dev != NULL; }
int mqtt_live(struct mqtt_client *client) { return (client->protocol_version == 4u) ? 0 : -1; }
int mqtt_abort(struct mqtt_client *client) { return (client != NULL) ? 0 : -1; }
void mqtt_client_init(struct mqtt_client *client) { memset(client, 0, sizeof *client); }
void zsock_freeaddrinfo(struct zsock_addrinfo *ai) { (void)ai; }

int32_t k_sleep(k_timeout_t timeout)
{
    uptime_ms += timeout.ticks;
    if (uptime_ms < (int64_t)HOURS * 3600000) {
        return 0;
    }
    printf("writes %u\n", writes);
    return 1;
}

ssize_t hwinfo_get_device_id(uint8_t *buffer, size_t length)
{
    memset(buffer, 0x5A, length);
    return 12;
}

int flash_get_page_info_by_offs(const struct device *dev, off_t offset, struct flash_pages_info *info)
{
    (void)dev;
    info->start_offset = offset;
    info->size = 4096u;
    info->index = 0u;
    return 0;
}

int nvs_mount(struct nvs_fs *fs)
{
    return ((fs->sector_size == 4096u) && (fs->sector_count >= 2u)) ? 0 : -22;
}

static void entry_name(uint16_t id, char *name) { (void)sprintf(name, "entry-%u.bin", (unsigned)id); }

ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t len)
{
    char name[32];
    (void)fs;
    entry_name(id, name);
    FILE *file = fopen(name, "wb");
    if ((file == NULL) || (fwrite(data, len, 1u, file) != 1u) || (fclose(file) != 0)) {
        return -5;
    }
    writes++;
    return (ssize_t)len;
}

ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t len)
{
    char name[32];
    (void)fs;
    entry_name(id, name);
    FILE *file = fopen(name, "rb");
    if (file == NULL) {
        return -2;
    }
    const size_t size = fread(data, 1u, len, file);
    (void)fclose(file);
    return (ssize_t)size;
}

int sntp_simple(const char *server, uint32_t timeout, struct sntp_time *ts)
{
    (void)server;
    (void)timeout;
    ts->seconds = 1700000000u + (uint64_t)(uptime_ms / 1000);
    return (uptime_ms > SNTP_AFTER_MS) ? 0 : -110;
}

int zsock_getaddrinfo(const char *host, const char *service, const struct zsock_addrinfo *hints,
                      struct zsock_addrinfo **res)
{
    static struct net_sockaddr address;
    static struct zsock_addrinfo found = {.ai_addr = &address, .ai_addrlen = sizeof address};
    *res = &found;
    return ((host != NULL) && (service != NULL) && (hints->ai_socktype == NET_SOCK_STREAM)) ? 0 : -1;
}

int zsock_poll(struct zsock_pollfd *fds, int nfds, int timeout)
{
    uptime_ms += (pending == NOTHING) ? timeout : 0;
    return ((nfds == 1) && (fds[0].events == ZSOCK_POLLIN) && (pending != NOTHING)) ? 1 : 0;
}

int mqtt_connect(struct mqtt_client *client)
{
    pending = CONNECT;
    return ((client->broker != NULL) && (client->rx_buf_size > 100u) && (client->client_id.size == 16u)) ? 0 : -22;
}

int mqtt_subscribe(struct mqtt_client *client, const struct mqtt_subscription_list *param)
{
    (void)client;
    return ((param->list_count == 1u) && (param->message_id != 0u) && (param->list[0].topic.size == 35u)) ? 0 : -22;
}

int mqtt_publish(struct mqtt_client *client, const struct mqtt_publish_param *param)
{
    const uint8_t *record = param->message.payload.data;
    (void)client;
    if ((param->message.payload.len != 97u) || (param->message.topic.qos != 1u) || (param->message_id == 0u)) {
        return -22;
    }
    printf("boot %u sequence %u\n", record[18], record[22]);
    memcpy(answer, &record[2], 8);
    memcpy(&answer[8], &record[18], 8);
    pending = ACKNOWLEDGE;
    return 0;
}

int mqtt_input(struct mqtt_client *client)
{
    struct mqtt_evt event = {.type = MQTT_EVT_CONNACK};
    if (pending == ACKNOWLEDGE) {
        event.type = MQTT_EVT_PUBLISH;
        event.param.publish.message.payload.len = sizeof answer;
        event.param.publish.message_id = 9u;
    }
    pending = NOTHING;
    client->evt_cb(client, &event);
    return 0;
}

int mqtt_readall_publish_payload(struct mqtt_client *client, uint8_t *buffer, size_t length)
{
    (void)client;
    memcpy(buffer, answer, length);
    return (length == sizeof answer) ? 0 : -22;
}

int mqtt_publish_qos1_ack(struct mqtt_client *client, const struct mqtt_puback_param *param)
{
    (void)client;
    return (param->message_id == 9u) ? 0 : -22;
}

int mqtt_disconnect(struct mqtt_client *client, const struct mqtt_disconnect_param *param)
{
    (void)client;
    return (param == NULL) ? 0 : -22;
}
