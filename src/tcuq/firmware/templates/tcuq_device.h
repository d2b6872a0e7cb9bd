/* SPDX-License-Identifier: Apache-2.0 */
/* Profile @HASH8@, exported by tcuq @VERSION@; do not edit: export again. */
#ifndef TCUQ_DEVICE_H
#define TCUQ_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcuq.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_DEVICE_VERSION "@VERSION@"
#define TCUQ_DEVICE_PROFILE_SHA256 "@SHA256@"
#define TCUQ_DEVICE_PROFILE_HASH 0x@HASH8@u

#if TCUQ_PROFILE_FORMAT != @FORMAT@u
#error "this profile has format @FORMAT@ and the runtime beside it another: run tcuq export again"
#endif
#if !defined(TCUQ_RUNTIME_DIGEST) || (TCUQ_RUNTIME_DIGEST != 0x@DIGEST@u)
#error "this profile was exported with another runtime (tcuq @VERSION@): run tcuq export again"
#endif

#define TCUQ_DEVICE_CLASSES @CLASSES@u           /* or, without classes, outputs */
#define TCUQ_DEVICE_WIDTH @WIDTH@u            /* features a step carries */
#define TCUQ_DEVICE_FEATURE_BYTES @FEATURE_BYTES@u    /* room for them, at least 1 */
#define TCUQ_DEVICE_HEALTH @HEALTH_COUNT@u           /* statistics of input health a step carries */
#define TCUQ_DEVICE_HEALTH_VALUES @HEALTH_VALUES@u    /* room for them, at least 1 */
#define TCUQ_DEVICE_STORAGE_BYTES @STORAGE@u    /* RAM of all state behind the monitor: checked by the compiler */
#define TCUQ_DEVICE_SNAPSHOT_BYTES @SNAPSHOT@u   /* of tcuq_snapshot */
@FEATURE_SCALE@
extern const tcuq_profile tcuq_device_profile;
extern tcuq_monitor tcuq_device;
@FEATURE_TABLE@@OTA@@OUTPUTS@
/* An int8 softmax output (scale 1/256, zero point -128) as the byte that tcuq_step takes. */
static inline uint8_t tcuq_device_posterior_of(int8_t code)
{
    return (uint8_t)((int32_t)code + 128);
}

#if (TCUQ_DEVICE_CLASSES == 2u) && TCUQ_WITH_CLASSES
/* The output byte q of a model with a single sigmoid, q / 256 being the probability of the second
 * class, as the two bytes that tcuq_step takes. Of an int8 output: tcuq_device_posterior_of first. */
static inline void tcuq_device_sigmoid(uint8_t probability, uint8_t posterior[2])
{
    posterior[0] = (uint8_t)((probability == 0u) ? 255u : (256u - probability));
    posterior[1] = probability;
}
#endif

/* Runs tcuq_init and @STEPS@ steps whose decisions the host knows, then resets. 0: all are the same;
 * below 0: the tcuq_status of tcuq_init; above 0: the first step, from 1, that differs, or one
 * more than there are if the state they leave does. Takes a snapshot's bytes of stack. */
int32_t tcuq_device_selftest(void);

#ifdef __cplusplus
}
#endif

#endif
