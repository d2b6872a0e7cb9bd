/* SPDX-License-Identifier: Apache-2.0 */
/* Network and monitor in one firmware: reads a second of speech after another from story.bin and
 * prints a decision a line: step, digit, risk, threshold, exceeded, outcome, alarm, as integers. */
#include "network.h"
#include "semihosting.h"
#include "tcuq_device.h"

#define LINE_BYTES 64u

static int8_t input[NETWORK_INPUT];
static uint8_t posterior[NETWORK_CLASSES];
static int8_t features[NETWORK_FEATURES];

/* All that the monitor adds to the network; count.py counts both, so they are functions. */
__attribute__((noinline)) static void watch(tcuq_decision *decision)
{
    for (uint32_t i = 0u; i < NETWORK_FEATURES; i++) {
        features[i] = tcuq_device_feature_of(features[i]);
    }
    tcuq_step(&tcuq_device, posterior, features, NULL, decision);
}

__attribute__((noinline)) static void hear(tcuq_decision *decision)
{
    network_run(input, posterior, features);
    watch(decision);
}

static char *put_number(char *at, int32_t value)
{
    char digits[10];
    uint32_t count = 0u;
    uint32_t left = (value < 0) ? 0u - (uint32_t)value : (uint32_t)value;
    do {
        digits[count] = (char)('0' + left % 10u);
        left /= 10u;
        count++;
    } while (left != 0u);
    if (value < 0) {
        *at++ = '-';
    }
    while (count > 0u) {
        count--;
        *at++ = digits[count];
    }
    *at++ = ' ';
    return at;
}

static int32_t print(int32_t to, uint32_t step, const tcuq_decision *decision)
{
    char line[LINE_BYTES];
    const int32_t row[] = {(int32_t)step,      decision->label,   decision->risk, decision->threshold_q16,
                           decision->exceeded, decision->outcome, decision->alarm};
    char *at = line;
    for (uint32_t i = 0u; i < sizeof row / sizeof row[0]; i++) {
        at = put_number(at, row[i]);
    }
    at[-1] = '\n';
    return semihosting_write(to, line, (uint32_t)(at - line));
}

int main(void)
{
    if (tcuq_device_selftest() != 0) {
        return EXIT_INIT; /* this build does not decide as the host does */
    }
    const int32_t from = semihosting_open("story.bin", FILE_READ);
    const int32_t to = semihosting_open(":tt", FILE_WRITE); /* QEMU's console */
    if ((from < 0) || (to < 0)) {
        return EXIT_FILE;
    }
    for (uint32_t step = 0u; semihosting_read(from, input, sizeof input) == sizeof input; step++) {
        tcuq_decision decision;
        hear(&decision);
        if (print(to, step, &decision) != 0) {
            return EXIT_FILE;
        }
    }
    return EXIT_DONE;
}
