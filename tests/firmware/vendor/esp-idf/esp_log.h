/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef ESP_LOG_H
#define ESP_LOG_H

#include <stdio.h>

#define ESP_LOG(tag, ...) ((void)fprintf(stderr, "%s: ", tag), (void)fprintf(stderr, __VA_ARGS__), (void)fputc('\n', stderr))
#define ESP_LOGE(tag, ...) ESP_LOG(tag, __VA_ARGS__)
#define ESP_LOGW(tag, ...) ESP_LOG(tag, __VA_ARGS__)
#define ESP_LOGI(tag, ...) ESP_LOG(tag, __VA_ARGS__)
#define ESP_LOGD(tag, ...) ((void)(tag))

#endif
