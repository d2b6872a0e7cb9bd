/* SPDX-License-Identifier: Apache-2.0 */
/* The optional parts of the runtime that the profiles of this folder need. Included by tcuq.h. */
#ifndef TCUQ_BUILD_H
#define TCUQ_BUILD_H

#define TCUQ_RUNTIME_VERSION "@VERSION@"
#define TCUQ_RUNTIME_DIGEST 0x@DIGEST@u
#define TCUQ_WITH_ANCHORED @ANCHORED@
#define TCUQ_WITH_NOVELTY @NOVELTY@
#define TCUQ_WITH_HEALTH @HEALTH@
#define TCUQ_WITH_ALARM @ALARM@
#define TCUQ_WITH_TELEMETRY @TELEMETRY@

#endif
