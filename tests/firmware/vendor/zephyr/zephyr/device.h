/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_DEVICE_H
#define ZEPHYR_DEVICE_H

#include <stdbool.h>

struct device {
    const char *name;
};

bool device_is_ready(const struct device *dev);

#endif
