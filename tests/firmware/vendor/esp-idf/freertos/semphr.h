/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef SEMAPHORE_H
#define SEMAPHORE_H

#include <stddef.h>

#include "freertos/queue.h"

typedef QueueHandle_t SemaphoreHandle_t;

BaseType_t xQueueSemaphoreTake(QueueHandle_t xQueue, TickType_t xTicksToWait);

#define xSemaphoreCreateBinary() xQueueGenericCreate((UBaseType_t)1, 0U, 3U)
#define xSemaphoreTake(xSemaphore, xBlockTime) xQueueSemaphoreTake((xSemaphore), (xBlockTime))
#define xSemaphoreGive(xSemaphore) xQueueGenericSend((xSemaphore), NULL, (TickType_t)0, (BaseType_t)0)

#endif
