/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_NET_MQTT_H
#define ZEPHYR_NET_MQTT_H

#include <stddef.h>
#include <stdint.h>

enum mqtt_evt_type {
    MQTT_EVT_CONNACK,
    MQTT_EVT_DISCONNECT,
    MQTT_EVT_PUBLISH,
    MQTT_EVT_PUBACK,
};

enum mqtt_version { MQTT_VERSION_3_1_0 = 3, MQTT_VERSION_3_1_1 = 4, MQTT_VERSION_5_0 = 5 };
enum mqtt_qos { MQTT_QOS_0_AT_MOST_ONCE, MQTT_QOS_1_AT_LEAST_ONCE, MQTT_QOS_2_EXACTLY_ONCE };
enum mqtt_transport_type { MQTT_TRANSPORT_NON_SECURE, MQTT_TRANSPORT_NUM };

struct mqtt_utf8 {
    const uint8_t *utf8;
    uint32_t size;
};

struct mqtt_binstr {
    uint8_t *data;
    uint32_t len;
};

struct mqtt_topic {
    struct mqtt_utf8 topic;
    uint8_t qos;
};

struct mqtt_publish_message {
    struct mqtt_topic topic;
    struct mqtt_binstr payload;
};

struct mqtt_connack_param {
    uint8_t session_present_flag;
    uint8_t return_code;
};

struct mqtt_puback_param {
    uint16_t message_id;
};

struct mqtt_publish_param {
    struct mqtt_publish_message message;
    uint16_t message_id;
    uint8_t dup_flag : 1;
    uint8_t retain_flag : 1;
};

struct mqtt_subscription_list {
    struct mqtt_topic *list;
    uint16_t list_count;
    uint16_t message_id;
};

struct mqtt_disconnect_param;

union mqtt_evt_param {
    struct mqtt_connack_param connack;
    struct mqtt_publish_param publish;
    struct mqtt_puback_param puback;
};

struct mqtt_evt {
    enum mqtt_evt_type type;
    union mqtt_evt_param param;
    int result;
};

struct mqtt_client;
typedef void (*mqtt_evt_cb_t)(struct mqtt_client *client, const struct mqtt_evt *evt);

struct mqtt_transport {
    enum mqtt_transport_type type;
    union {
        struct {
            int sock;
        } tcp;
    };
};

struct mqtt_client {
    struct mqtt_transport transport;
    struct mqtt_utf8 client_id;
    const void *broker;
    struct mqtt_utf8 *user_name;
    struct mqtt_utf8 *password;
    mqtt_evt_cb_t evt_cb;
    uint8_t *rx_buf;
    uint32_t rx_buf_size;
    uint8_t *tx_buf;
    uint32_t tx_buf_size;
    uint16_t keepalive;
    uint8_t protocol_version;
    uint8_t clean_session : 1;
    void *user_data;
};

void mqtt_client_init(struct mqtt_client *client);
int mqtt_connect(struct mqtt_client *client);
int mqtt_publish(struct mqtt_client *client, const struct mqtt_publish_param *param);
int mqtt_publish_qos1_ack(struct mqtt_client *client, const struct mqtt_puback_param *param);
int mqtt_subscribe(struct mqtt_client *client, const struct mqtt_subscription_list *param);
int mqtt_disconnect(struct mqtt_client *client, const struct mqtt_disconnect_param *param);
int mqtt_abort(struct mqtt_client *client);
int mqtt_live(struct mqtt_client *client);
int mqtt_input(struct mqtt_client *client);
int mqtt_readall_publish_payload(struct mqtt_client *client, uint8_t *buffer, size_t length);

#endif
