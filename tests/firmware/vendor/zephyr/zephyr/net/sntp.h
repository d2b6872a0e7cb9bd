/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_NET_SNTP_H
#define ZEPHYR_NET_SNTP_H

#include <stdint.h>

struct sntp_time {
    uint64_t seconds;
    uint32_t fraction;
};

int sntp_simple(const char *server, uint32_t timeout, struct sntp_time *ts);

#endif
