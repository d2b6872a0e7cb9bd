/* SPDX-License-Identifier: Apache-2.0 */
/* The keyword network: one second of speech to what the monitor takes of it. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stdint.h>

#define NETWORK_FRAMES 49
#define NETWORK_COEFFICIENTS 10
#define NETWORK_INPUT (NETWORK_FRAMES * NETWORK_COEFFICIENTS)
#define NETWORK_FEATURES 64
#define NETWORK_CLASSES 10

#ifdef __cplusplus
extern "C" {
#endif

/* Posterior in 1/256; features are the last layer's input, in FEATURE_SCALE (weights.h). */
void network_run(const int8_t input[NETWORK_INPUT], uint8_t posterior[NETWORK_CLASSES],
                 int8_t features[NETWORK_FEATURES]);

#ifdef __cplusplus
}
#endif

#endif
