/* SPDX-License-Identifier: Apache-2.0 */
/* MQTT over a socket, and time from SNTP whenever it comes. All of it runs in the main thread: the client calls
 * on_event from mqtt_input, which is called here. */
#include <stdio.h>
#include <string.h>
#include <zephyr/kernel.h>
#include <zephyr/logging/log.h>
#include <zephyr/net/mqtt.h>
#include <zephyr/net/sntp.h>
#include <zephyr/net/socket.h>

#include "device.h"

LOG_MODULE_REGISTER(network);

#define BROKER "broker.example" /* yours; ship with MQTT_TRANSPORT_SECURE and its certificate */
#define PORT "1883"
#define SITE "site-1"
#define CONNECT_MS 5000
#define SNTP_MS 2000u

static struct mqtt_client client;
static struct net_sockaddr_storage broker;
static uint8_t receive_buffer[256];
static uint8_t send_buffer[256];
static char client_id[24];
static char record_topic[64];
static char stored_topic[64];
static uint8_t heard[TCUQ_ACK_BYTES];
static bool is_heard;
static bool connected;
static uint16_t message_id;
static uint32_t offset_s; /* what SNTP said more than the uptime */

uint32_t device_clock_s(void)
{
    return (uint32_t)(k_uptime_get() / 1000) + offset_s;
}

/* Asked for until it answers; nobody waits for it otherwise. */
static void ask_for_time(void)
{
    struct sntp_time time;
    if ((offset_s == 0u) && (sntp_simple("pool.ntp.org", SNTP_MS, &time) == 0)) {
        offset_s = (uint32_t)time.seconds - (uint32_t)(k_uptime_get() / 1000);
    }
}

static void take_message(const struct mqtt_publish_param *message)
{
    const struct mqtt_puback_param answer = {.message_id = message->message_id};
    uint8_t payload[TCUQ_ACK_BYTES];
    if ((message->message.payload.len == sizeof payload) &&
        (mqtt_readall_publish_payload(&client, payload, sizeof payload) == 0)) {
        memcpy(heard, payload, sizeof heard);
        is_heard = true;
        (void)mqtt_publish_qos1_ack(&client, &answer);
    } else {
        (void)mqtt_abort(&client); /* what is not read would be taken for the next packet */
    }
}

static void on_event(struct mqtt_client *from, const struct mqtt_evt *event)
{
    ARG_UNUSED(from);
    if ((event->type == MQTT_EVT_CONNACK) && (event->result == 0)) {
        connected = true;
    } else if (event->type == MQTT_EVT_DISCONNECT) {
        connected = false;
    } else if (event->type == MQTT_EVT_PUBLISH) {
        take_message(&event->param.publish);
    } else {
        LOG_DBG("event %d", (int)event->type);
    }
}

void network_name(uint64_t device)
{
    const uint32_t high = (uint32_t)(device >> 32);
    const uint32_t low = (uint32_t)device;
    (void)snprintf(client_id, sizeof client_id, "%08x%08x", (unsigned)high, (unsigned)low);
    (void)snprintf(record_topic, sizeof record_topic, "tcuq/%s/%s/record", SITE, client_id);
    (void)snprintf(stored_topic, sizeof stored_topic, "tcuq/%s/%s/stored", SITE, client_id);
}

/* Waits for data and hands it to the client. */
static void receive(int milliseconds)
{
    struct zsock_pollfd socket = {.fd = client.transport.tcp.sock, .events = ZSOCK_POLLIN};
    if ((zsock_poll(&socket, 1, milliseconds) > 0) && (mqtt_input(&client) != 0)) {
        connected = false;
    }
    (void)mqtt_live(&client);
}

static bool find_broker(void)
{
    struct zsock_addrinfo hints = {.ai_family = NET_AF_INET, .ai_socktype = NET_SOCK_STREAM};
    struct zsock_addrinfo *found;
    if (zsock_getaddrinfo(BROKER, PORT, &hints, &found) != 0) {
        return false;
    }
    memcpy(&broker, found->ai_addr, found->ai_addrlen);
    zsock_freeaddrinfo(found);
    return true;
}

static bool connect_broker(void)
{
    struct mqtt_topic topic = {.qos = MQTT_QOS_1_AT_LEAST_ONCE};
    const struct mqtt_subscription_list list = {.list = &topic, .list_count = 1u, .message_id = 1u};
    topic.topic.utf8 = (const uint8_t *)stored_topic;
    topic.topic.size = (uint32_t)strlen(stored_topic);
    if (!find_broker()) {
        return false;
    }
    mqtt_client_init(&client);
    client.broker = &broker;
    client.evt_cb = on_event;
    client.client_id.utf8 = (const uint8_t *)client_id;
    client.client_id.size = (uint32_t)strlen(client_id);
    client.protocol_version = MQTT_VERSION_3_1_1;
    client.rx_buf = receive_buffer;
    client.rx_buf_size = sizeof receive_buffer;
    client.tx_buf = send_buffer;
    client.tx_buf_size = sizeof send_buffer;
    client.transport.type = MQTT_TRANSPORT_NON_SECURE;
    if (mqtt_connect(&client) != 0) {
        return false;
    }
    receive(CONNECT_MS);
    return connected && (mqtt_subscribe(&client, &list) == 0);
}

bool network_send(void *context, const uint8_t *record, uint32_t size)
{
    struct mqtt_publish_param message = {.message_id = 0u};
    ARG_UNUSED(context);
    if (!connected && !connect_broker()) {
        LOG_WRN("no network: records wait");
        return false;
    }
    ask_for_time();
    message_id++;
    message.message_id = (message_id == 0u) ? 1u : message_id;
    message.message.topic.qos = MQTT_QOS_1_AT_LEAST_ONCE;
    message.message.topic.topic.utf8 = (const uint8_t *)record_topic;
    message.message.topic.topic.size = (uint32_t)strlen(record_topic);
    message.message.payload.data = (uint8_t *)(uintptr_t)record; /* the library only reads it */
    message.message.payload.len = size;
    return mqtt_publish(&client, &message) == 0;
}

bool network_heard(uint8_t *acknowledgement, int milliseconds)
{
    if (!is_heard && connected) {
        receive(milliseconds);
    }
    const bool given = is_heard;
    if (given) {
        memcpy(acknowledgement, heard, sizeof heard);
        is_heard = false;
    }
    return given;
}

void network_stop(void)
{
    if (connected) {
        (void)mqtt_disconnect(&client, NULL);
        connected = false;
    }
}
