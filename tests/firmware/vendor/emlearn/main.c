/* SPDX-License-Identifier: Apache-2.0 */
/* Windows from standard input. */
#include "steps.h"

void monitored_step(const int16_t *window, tcuq_decision *decision);

int main(void)
{
    double numbers[TCUQ_DEVICE_WIDTH];
    int16_t window[TCUQ_DEVICE_WIDTH];
    tcuq_decision decision;
    if (tcuq_device_selftest() != 0) {
        return 1;
    }
    while (read_step(numbers, TCUQ_DEVICE_WIDTH)) {
        for (unsigned i = 0u; i < TCUQ_DEVICE_WIDTH; i++) {
            window[i] = (int16_t)numbers[i];
        }
        monitored_step(window, &decision);
        print_decision(&decision);
    }
    return 0;
}
