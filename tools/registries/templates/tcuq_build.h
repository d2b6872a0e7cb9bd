/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of this package, included by tcuq.h. A profile compiles beside this runtime alone. */
#ifndef TCUQ_BUILD_H
#define TCUQ_BUILD_H

#define TCUQ_RUNTIME_DIGEST 0x@DIGEST@u
#define TCUQ_WITH_UPLINK 1
#define TCUQ_WITH_OTA 1

#endif
