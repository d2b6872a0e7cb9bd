/* SPDX-License-Identifier: Apache-2.0 */
/* What is fuzzed: a profile made of the fuzzer's bytes, and memory for monitors of it.
 *
 * Only decode_*.c, memory.c, rules.c and extremes.c know the members of a profile and of a monitor. Every
 * table and every part of the memory is a heap block of exactly the size the header asks for, so that a
 * byte too far is seen. */
#ifndef FUZZ_SUBJECT_H
#define FUZZ_SUBJECT_H

#include <stdbool.h>

#include "bytes.h"
#include "tcuq.h"

#define MOST_BENDS 3u
#define MOST_BLOCKS 40u
#define MEMORY_PARTS 7u

/* One value of a profile that is to break its rule, perhaps. */
typedef struct {
    uint8_t which;
    uint16_t index;
    uint32_t raw;
} bend;

typedef struct {
    tcuq_profile profile;
    bend bends[MOST_BENDS];
    uint8_t bend_count;
    uint8_t null; /* the pointer that is null, if any */
    uint8_t last_selected; /* the largest feature that a selection may name; 0: there is none */
    uint8_t shape;
    void *blocks[MOST_BLOCKS];
    uint32_t block_count;
    /* what the operations need to know */
    bool sound; /* made to keep every rule */
    uint32_t classes;
    uint32_t width;
    uint32_t health;
    uint32_t cost; /* of a step, in products */
    uint32_t hash;
    uint8_t flags; /* of all channels */
    uint64_t rate_q16;
    uint64_t burst_q16;
    bool telemetry;
    bool no_monitor; /* tcuq_init gets a null pointer */
} subject;

/* The interface, of one build of the runtime. */
typedef struct {
    tcuq_status (*init)(tcuq_monitor *monitor);
    void (*step)(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
                 const int16_t *health, tcuq_decision *decision);
    void (*reset)(tcuq_monitor *monitor);
    void (*reset_history)(tcuq_monitor *monitor);
    void (*acknowledge)(tcuq_monitor *monitor);
    int16_t (*epoch_evidence)(const tcuq_monitor *monitor);
    uint32_t (*snapshot_size)(const tcuq_monitor *monitor);
    tcuq_status (*snapshot)(const tcuq_monitor *monitor, uint8_t *buffer, uint32_t size);
    tcuq_status (*restore)(tcuq_monitor *monitor, const uint8_t *buffer, uint32_t size);
} interface;

/* The second is the first again, or in a fuzzer of two builds the other one. */
extern const interface first_build;
extern const interface second_build;

typedef struct {
    const interface *by;
    tcuq_monitor monitor;
    void *parts[MEMORY_PARTS];
    size_t sizes[MEMORY_PARTS];
} memory;

void make_subject(subject *made, bytes *in);
void free_subject(subject *made);

/* What tcuq_init must say. */
tcuq_status expected_of(const tcuq_monitor *m);

/* Memory filled with a byte, as a device finds its RAM. */
void make_memory(memory *made, const subject *of, const interface *by, uint8_t garbage);
void free_memory(memory *made);

/* A copy of all parts, and whether they still equal it. */
uint8_t *copy_memory(const memory *from);
bool is_unchanged(const memory *now, const uint8_t *copy);

#endif
