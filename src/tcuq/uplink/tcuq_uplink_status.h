/* SPDX-License-Identifier: Apache-2.0 */
/* What the uplink's functions return. */
#ifndef TCUQ_UPLINK_STATUS_H
#define TCUQ_UPLINK_STATUS_H

typedef enum {
    TCUQ_UPLINK_OK = 0,
    TCUQ_UPLINK_NEW_BOOT = 1,           /* the store knows a later boot of this device: it has a new boot id */
    TCUQ_UPLINK_NOT_DUE = 2,            /* nothing to do yet; call again later */
    TCUQ_UPLINK_OLDER = 3,              /* a newer snapshot was restored before this one */
    TCUQ_UPLINK_ERROR_CONFIG = -1,      /* a value of the tcuq_uplink breaks its rule */
    TCUQ_UPLINK_ERROR_FULL = -2,        /* every slot holds a record of an earlier boot: not taken, call again */
    TCUQ_UPLINK_ERROR_UNSAVED = -3,     /* a snapshot must be written first: nothing is sent */
    TCUQ_UPLINK_ERROR_BUFFER = -4,      /* too small, or not the size it must have */
    TCUQ_UPLINK_ERROR_SNAPSHOT = -5,    /* not a whole snapshot */
    TCUQ_UPLINK_ERROR_FOREIGN = -6,     /* of another device, or another number or size of slots */
    TCUQ_UPLINK_ERROR_RECORD = -7,      /* the monitor gives no record, or this is none of version 3 */
    TCUQ_UPLINK_ERROR_EXHAUSTED = -8,   /* no boot id or sequence is left */
    TCUQ_UPLINK_ERROR_INCONSISTENT = -9, /* a snapshot with a true checksum that no uplink writes */
    TCUQ_UPLINK_ERROR_FORGED = -10      /* an acknowledgement without the tag of this device's key */
} tcuq_uplink_status;

#endif
