/* SPDX-License-Identifier: Apache-2.0 */
/* What this build of the runtime holds: the parts that profile @HASH8@ needs. Read by tcuq.h. */
#ifndef TCUQ_BUILD_H
#define TCUQ_BUILD_H

#define TCUQ_RUNTIME_VERSION "@VERSION@"
#define TCUQ_RUNTIME_DIGEST 0x@DIGEST@u
#define TCUQ_WITH_ANCHORED @ANCHORED@
#define TCUQ_WITH_NOVELTY @NOVELTY@
#define TCUQ_WITH_ALARM @ALARM@
#define TCUQ_WITH_TELEMETRY @TELEMETRY@

#endif
