/* SPDX-License-Identifier: Apache-2.0 */
/* What the uplink's functions return. */
#ifndef TCUQ_UPLINK_STATUS_H
#define TCUQ_UPLINK_STATUS_H

typedef enum {
    TCUQ_UPLINK_OK = 0,
    TCUQ_UPLINK_NEW_BOOT = 1,         /* the store knows a later life of this device: it has a new boot id */
    TCUQ_UPLINK_ERROR_CONFIG = -1,    /* a value of the tcuq_uplink breaks its rule */
    TCUQ_UPLINK_ERROR_FULL = -2,      /* every slot holds a record of an earlier boot: not taken, ask again */
    TCUQ_UPLINK_ERROR_UNSAVED = -3,   /* tcuq_uplink_saved is owed: nothing is sent */
    TCUQ_UPLINK_ERROR_BUFFER = -4,    /* too small, or not the size it must have */
    TCUQ_UPLINK_ERROR_SNAPSHOT = -5,  /* no whole snapshot */
    TCUQ_UPLINK_ERROR_FOREIGN = -6,   /* of another device, or another number or size of slots */
    TCUQ_UPLINK_ERROR_RECORD = -7,    /* the monitor gives no record, or this is none of version 1 */
    TCUQ_UPLINK_ERROR_EXHAUSTED = -8  /* no boot id is left */
} tcuq_uplink_status;

#endif
