/* SPDX-License-Identifier: Apache-2.0 */
/* ---- the runtime of this package; a profile compiles beside this runtime alone ---- */
#ifndef TCUQ_BUILD_H
#define TCUQ_BUILD_H

#define TCUQ_RUNTIME_DIGEST 0x@DIGEST@u
#ifndef TCUQ_WITH_UPLINK
#define TCUQ_WITH_UPLINK 1
#endif
#ifndef TCUQ_WITH_OTA
#define TCUQ_WITH_OTA 1
#endif

#endif
