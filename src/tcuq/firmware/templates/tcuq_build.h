/* SPDX-License-Identifier: Apache-2.0 */
/* ---- what the profiles of this folder need; written by tcuq export ---- */
#ifndef TCUQ_BUILD_H
#define TCUQ_BUILD_H

#define TCUQ_RUNTIME_DIGEST 0x@DIGEST@u
#define TCUQ_WITH_CLASSES @WITH_CLASSES@
#define TCUQ_WITH_OUTPUTS @WITH_OUTPUTS@
#define TCUQ_WITH_ANCHORED @WITH_ANCHORED@
#define TCUQ_WITH_NOVELTY @WITH_NOVELTY@
#define TCUQ_WITH_HEALTH @WITH_HEALTH@
#define TCUQ_WITH_ALARM @WITH_ALARM@
#define TCUQ_WITH_TELEMETRY @WITH_TELEMETRY@
#define TCUQ_WITH_UPLINK @WITH_UPLINK@
#define TCUQ_WITH_OTA @WITH_OTA@
#define TCUQ_CHECK_PROFILE @CHECK_PROFILE@

#endif
