/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_STORAGE_FLASH_MAP_H
#define ZEPHYR_STORAGE_FLASH_MAP_H

#include <zephyr/device.h>

extern const struct device storage_partition_device;

#define PARTITION_DEVICE(label) (&label##_device)
#define PARTITION_OFFSET(label) ((off_t)0xF0000)

#endif
