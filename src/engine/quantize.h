/* SPDX-License-Identifier: Apache-2.0 */
/* A step's numbers to the device's bytes: for Python's engine and for the browser's. */
#ifndef QUANTIZE_H
#define QUANTIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a step's numbers become the device's bytes. */
typedef struct {
    uint8_t logits;  /* 1: posteriors come as logits */
    uint8_t promise; /* 1: the profile bounds the accepted error until an alarm */
    double feature_scale;
    double max_magnitude; /* of any number */
    double sum_tolerance; /* of a row of probabilities */
    const double *output_centres; /* of outputs in place of a posterior; null: there are classes */
    const double *output_scales;
} quantizer;

typedef enum { ITEM_BYTE, ITEM_FLOAT, ITEM_DOUBLE } item;

/* False if a number breaks its rule; `to` is then invalid. */
bool quantize_posteriors(const quantizer *how, const void *from, item as, size_t classes, size_t rows,
                         uint8_t *restrict to);
bool quantize_outputs(const quantizer *how, const void *from, item as, size_t outputs, size_t rows,
                      uint8_t *restrict to);
bool quantize_features(const quantizer *how, const void *from, item as, size_t count,
                       int8_t *restrict to);

#endif
