// SPDX-License-Identifier: Apache-2.0
// An impulse whose results come from standard input.
#include "edge-impulse-sdk/classifier/ei_run_classifier.h"
#include "steps.h"

EI_IMPULSE_ERROR monitored_step(signal_t *signal, ei_impulse_result_t *result, tcuq_decision *decision);

extern "C" EI_IMPULSE_ERROR run_classifier(signal_t *, ei_impulse_result_t *result, bool)
{
    double numbers[TCUQ_DEVICE_CLASSES];
    if (!read_step(numbers, TCUQ_DEVICE_CLASSES)) {
        return EI_IMPULSE_CANCELED;
    }
    result->anomaly = (float)numbers[0];
    for (size_t i = 0; i < TCUQ_DEVICE_CLASSES; i++) {
        result->classification[i].value = (float)numbers[i];
    }
    return EI_IMPULSE_OK;
}

int main()
{
    signal_t signal = {};
    ei_impulse_result_t result = {};
    tcuq_decision decision;
    if (tcuq_device_selftest() != 0) {
        return 1;
    }
    while (monitored_step(&signal, &result, &decision) == EI_IMPULSE_OK) {
        print_decision(&decision);
    }
    return 0;
}
