/* SPDX-License-Identifier: Apache-2.0 */
/* Profile @HASH8@, exported by tcuq @VERSION@; generated: do not edit, export again. */
#include "tcuq_device.h"

@MONITOR@
