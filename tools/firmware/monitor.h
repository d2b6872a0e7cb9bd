/* SPDX-License-Identifier: Apache-2.0 */
/* What export.py writes: a profile, the memory it needs and the monitor over both. */
#ifndef MONITOR_H
#define MONITOR_H

#include "tcuq.h"

extern const tcuq_monitor firmware_monitor;

#endif
