/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int64_t ticks;
} k_timeout_t;

#define K_SECONDS(s) ((k_timeout_t){.ticks = (int64_t)(s) * 1000})
#define ARG_UNUSED(x) (void)(x)

struct k_mutex {
    int owner;
};

int64_t k_uptime_get(void);
int32_t k_sleep(k_timeout_t timeout);

#endif
