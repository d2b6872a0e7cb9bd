/* SPDX-License-Identifier: Apache-2.0 */
/* What functions return, of the monitor, the uplink and profiles over the air. */
#ifndef TCUQ_STATUS_H
#define TCUQ_STATUS_H

/* A result that must be looked at: compilers warn if it is not. Other results may be left alone. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define TCUQ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TCUQ_MUST_CHECK
#endif

/* 0, above 0 a notice, below 0 an error; tcuq_strerror has a text for each. */
typedef enum {
    TCUQ_OK = 0,                    /* done */
    TCUQ_NEW_BOOT = 1,              /* the store knows a later boot of this device: it has a new boot id */
    TCUQ_NOT_DUE = 2,               /* nothing to do yet; call again later */
    TCUQ_OLDER = 3,                 /* a newer snapshot was restored before this one */
    TCUQ_ERROR_NULL = -1,           /* a pointer that must not be null is */
    TCUQ_ERROR_FORMAT = -2,         /* of another format: a profile, or a blob */
    TCUQ_ERROR_PROFILE = -3,        /* a value of the profile breaks its rule */
    TCUQ_ERROR_BUILD = -4,          /* the profile needs a part this build leaves out */
    TCUQ_ERROR_MEMORY = -5,         /* memory the profile needs is not given */
    TCUQ_ERROR_BUFFER = -6,         /* the buffer is too small, or not of the size it must have */
    TCUQ_ERROR_SNAPSHOT = -7,       /* the snapshot is damaged */
    TCUQ_ERROR_FOREIGN = -8,        /* of another profile or device, or of other slots */
    TCUQ_ERROR_VERSION = -9,        /* the snapshot is of another version of the runtime's state */
    /* uplink */
    TCUQ_ERROR_CONFIG = -10,        /* a value of the tcuq_uplink breaks its rule, or a call is out of order */
    TCUQ_ERROR_FULL = -11,          /* every slot holds a record of an earlier boot: not taken, call again */
    TCUQ_ERROR_UNSAVED = -12,       /* a snapshot must be written first: nothing is sent */
    TCUQ_ERROR_RECORD = -13,        /* the monitor gives no record, or this is none of version 3 */
    TCUQ_ERROR_EXHAUSTED = -14,     /* no boot id or sequence is left */
    TCUQ_ERROR_INCONSISTENT = -15,  /* a snapshot with a true checksum that no uplink writes */
    /* uplink and profiles over the air */
    TCUQ_ERROR_FORGED = -16,        /* not authenticated by the key that it names, or that key is unknown */
    /* profiles over the air */
    TCUQ_ERROR_ALIGNMENT = -17,     /* the blob does not begin at a multiple of 8 */
    TCUQ_ERROR_DAMAGED = -18,       /* the blob is cut off, or its tables do not fill it exactly */
    TCUQ_ERROR_OLD = -19,           /* replayed or downgraded: its number was used, or is below one that was */
    TCUQ_ERROR_INPUTS = -20,        /* made for other inputs than this firmware gives to tcuq_step */
    TCUQ_ERROR_ROOM = -21,          /* needs more memory than this firmware has for a profile */
    TCUQ_ERROR_SELFTEST = -22,      /* decides otherwise than on the host */
    TCUQ_ERROR_FLASH = -23,         /* a page could not be written */
    TCUQ_ERROR_TRIAL = -24,         /* a profile is on trial: confirm it, or restart until it is given up */
    TCUQ_ERROR_PRODUCT = -25,       /* made for another product */
    TCUQ_ERROR_EXPIRED = -26,       /* too old to be activated, or it expires and the time is unknown */
    TCUQ_ERROR_BUSY = -27           /* verifier, counter or external flash gave no answer: nothing is decided */
} tcuq_status;

#endif
