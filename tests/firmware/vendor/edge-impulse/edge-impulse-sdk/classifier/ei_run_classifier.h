/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Edge Impulse's SDK for C++: what the page uses, of an impulse of three classes. */
#ifndef EI_RUN_CLASSIFIER_H
#define EI_RUN_CLASSIFIER_H

#include <cstddef>
#include <cstdint>

#define EI_CLASSIFIER_LABEL_COUNT 3

typedef enum { EI_IMPULSE_OK = 0, EI_IMPULSE_CANCELED = -7 } EI_IMPULSE_ERROR;

typedef struct {
    const char *label;
    float value;
} ei_impulse_result_classification_t;

typedef struct {
    ei_impulse_result_classification_t classification[EI_CLASSIFIER_LABEL_COUNT];
    float anomaly;
} ei_impulse_result_t;

namespace ei {
typedef struct {
    int (*get_data)(size_t offset, size_t length, float *out);
    size_t total_length;
} signal_t;
}
using ei::signal_t;

extern "C" EI_IMPULSE_ERROR run_classifier(signal_t *signal, ei_impulse_result_t *result, bool debug = false);

#endif
