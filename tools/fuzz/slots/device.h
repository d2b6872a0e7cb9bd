/* SPDX-License-Identifier: Apache-2.0 */
/* A device with two slots for the fuzzer: flash whose power is cut, a verifier without an answer, blobs of 16 bytes. */
#ifndef FUZZ_SLOTS_DEVICE_H
#define FUZZ_SLOTS_DEVICE_H

#include <setjmp.h>
#include <string.h>

#include "must.h"
#include "tcuq_slots.h"

#define SLOT_BYTES 128u /* TCUQ_BLOB_HEAD_BYTES */
#define UNLIMITED UINT32_MAX

/* Byte 4 of a blob: what happens to it. Bytes 0 to 3 are its number. */
enum { GOOD, FORGED, FAILS_SELF_TEST, HANGS, EXPIRED, TOO_LARGE, KINDS };

typedef struct {
    uint8_t pages[2][TCUQ_SLOTS_BYTES];
    uint8_t slots[2][SLOT_BYTES];
    uint8_t ram[2][SLOT_BYTES];      /* copies of external slots */
    uint8_t verified[2][SLOT_BYTES]; /* what the verifier said TRUE of since the restart */
    bool is_verified[2];
    uint32_t power;    /* erasures and bytes written until it is cut */
    uint32_t writes;   /* of pages, ended */
    uint32_t counted;  /* the chip's counter */
    uint32_t attempts; /* self-tests of a profile on trial at a start, since it was activated */
    uint8_t slot_run;  /* slot whose self-test was the last to be right */
    bool busy, broken, starting;
} device;

extern device world;
extern jmp_buf power_off;
extern tcuq_slots slots;
extern tcuq_monitor monitor;
extern tcuq_slots_state state;

uint32_t number_in(const uint8_t *blob);
void seal_page(uint8_t *page);
void configure(uint8_t options, uint8_t trial, uint32_t first_number);

#endif
