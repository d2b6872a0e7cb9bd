/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_DRIVERS_HWINFO_H
#define ZEPHYR_DRIVERS_HWINFO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t hwinfo_get_device_id(uint8_t *buffer, size_t length);

#endif
