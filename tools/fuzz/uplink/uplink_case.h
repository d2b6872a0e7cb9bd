/* SPDX-License-Identifier: Apache-2.0 */
/* The fuzzed uplink: what the harness knows of it, and what must hold. */
#ifndef FUZZ_UPLINK_CASE_H
#define FUZZ_UPLINK_CASE_H

#include <string.h>

#include "bytes.h"
#include "must.h"
#include "tcuq_uplink_internal.h"

#define MAX_PAGES 4u
#define NONE 255u

typedef struct {
    tcuq_uplink uplink;
    tcuq_uplink_state *state;
    tcuq_core core;
    tcuq_telemetry telemetry;
    tcuq_profile profile;
    tcuq_slot past;
    uint8_t posteriors[2];
    tcuq_monitor monitor;
    uint8_t *pages[MAX_PAGES];
    uint32_t size;        /* of a snapshot */
    uint8_t good;         /* page that holds the newest whole snapshot, or NONE */
    uint8_t damaged;      /* bits of pages changed by other hands and not rewritten: what they hold is no promise */
    uint8_t sent[TCUQ_SIGNED_BYTES];
    uint32_t sendings;
    uint32_t now_s;
    uint32_t steps;       /* counted since the restart, without wrapping */
    uint32_t snapshots;   /* taken since the restart */
    uint32_t moves;       /* of the boot by acknowledgements since the restart */
} fuzz_uplink;

/* harness.c */
void mac(void *context, const uint8_t *bytes, uint32_t size, uint8_t *tag);

/* operations.c: save returns true if the power fails in it */
void op_record(fuzz_uplink *on);
bool op_save(fuzz_uplink *on, bytes *in);
void op_run(fuzz_uplink *on);
void op_stored(fuzz_uplink *on, bytes *in);
void op_restart(fuzz_uplink *on, bytes *in);

/* checks.c */
bool follows_rules(const tcuq_uplink *of);
void check_row(const fuzz_uplink *on);
void check_sent(const fuzz_uplink *on);
void check_wait(const fuzz_uplink *on);

/* refusals.c: of an uplink that has not begun */
void check_refusals(fuzz_uplink *on);

/* keeper.c: leaves the uplink as after tcuq_uplink_init */
void check_keeper(fuzz_uplink *on);

/* model.c */
tcuq_uplink_state model_pass(const fuzz_uplink *on, const tcuq_uplink_state *before);
tcuq_uplink_state model_turn(const fuzz_uplink *on, const tcuq_uplink_state *before);
void model_begun(const fuzz_uplink *on, const tcuq_uplink_state *restored);
void model_row(const fuzz_uplink *on, const uint8_t *row, const tcuq_uplink_state *before);
void model_snapshot(const fuzz_uplink *on, const uint8_t *snapshot);

#endif
