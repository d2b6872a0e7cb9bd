/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from standard input, and what the monitor decides of each to standard output. */
#ifndef STEPS_H
#define STEPS_H

#include <stdio.h>

#include "tcuq_device.h"

static inline int read_step(double *numbers, unsigned count)
{
    unsigned i = 0u;
    while ((i < count) && (scanf("%lf", &numbers[i]) == 1)) {
        i++;
    }
    return i == count;
}

static inline void print_decision(const tcuq_decision *decision)
{
    printf("%u %u %u\n", (unsigned)decision->risk, (unsigned)decision->reason, (unsigned)decision->alarm);
}

#endif
