/* SPDX-License-Identifier: Apache-2.0 */
/* Heap blocks of exactly the size asked for, so that the sanitizer reports one byte too far: those that a subject
 * owns, and the parts of a monitor's memory, each as large as tcuq.h says the profile needs. */
#include <stdlib.h>
#include <string.h>

#include "decode.h"

#define MOST_PART ((size_t)1 << 19) /* more than any sound profile needs */

void *block(subject *made, size_t count, size_t item)
{
    const size_t wanted = count * item;
    void *got = malloc((wanted > MOST_BYTES) ? 0u : wanted);
    if (made->block_count == MOST_BLOCKS) {
        abort();
    }
    made->blocks[made->block_count++] = got;
    return got;
}

void free_subject(subject *made)
{
    for (uint32_t i = 0u; i < made->block_count; i++) {
        free(made->blocks[i]);
    }
}

static void *part(memory *made, const subject *of, uint32_t at, size_t size)
{
    made->sizes[at] = (size > MOST_PART) ? 0u : size;
    made->parts[at] = malloc(made->sizes[at]);
    return (of->null == M_CORE + (int)at) ? NULL : made->parts[at];
}

void make_memory(memory *made, const subject *of, const interface *by, uint8_t garbage)
{
    const tcuq_profile *p = &of->profile;
    tcuq_monitor *m = &made->monitor;
    const bool lags = (p->lag_count >= 1u) && (p->lag_count <= TCUQ_MAX_LAGS);
    const size_t past = lags ? p->lags[p->lag_count - 1u] : 0u;
    const size_t terms = (p->terms != NULL) ? p->term_count : 0u;
    const size_t channels = (p->channels != NULL) ? p->channel_count : 0u;
    made->by = by;
    m->profile = (of->null == P_PROFILE) ? NULL : p;
    m->core = part(made, of, 0u, sizeof *m->core);
    m->slots = part(made, of, 1u, past * sizeof *m->slots);
    m->posteriors = part(made, of, 2u, past * p->classes);
    m->features = part(made, of, 3u, past * p->dimensions);
    m->smoothed_q8 = part(made, of, 4u, terms * sizeof *m->smoothed_q8);
    m->channels = part(made, of, 5u, channels * sizeof *m->channels);
    m->telemetry = part(made, of, 6u, sizeof *m->telemetry);
    if (((of->shape & SPARE) == 0) && (p->width == 0u)) {
        m->features = NULL;
    }
    if (((of->shape & SPARE) == 0) && !smooths(p)) {
        m->smoothed_q8 = NULL;
    }
    if (channels == 0u) {
        m->channels = NULL;
    }
    if (!of->telemetry) {
        m->telemetry = NULL;
    }
    for (uint32_t i = 0u; i < MEMORY_PARTS; i++) {
        memset(made->parts[i], garbage, made->sizes[i]);
    }
}

void free_memory(memory *made)
{
    for (uint32_t i = 0u; i < MEMORY_PARTS; i++) {
        free(made->parts[i]);
    }
}

uint8_t *copy_memory(const memory *from)
{
    size_t size = 1u;
    for (uint32_t i = 0u; i < MEMORY_PARTS; i++) {
        size += from->sizes[i];
    }
    uint8_t *copy = malloc(size);
    for (uint32_t i = 0u, at = 0u; i < MEMORY_PARTS; at += (uint32_t)from->sizes[i++]) {
        memcpy(&copy[at], from->parts[i], from->sizes[i]);
    }
    return copy;
}

bool is_unchanged(const memory *now, const uint8_t *copy)
{
    bool same = true;
    for (uint32_t i = 0u; i < MEMORY_PARTS; copy += now->sizes[i++]) {
        same = same && (memcmp(copy, now->parts[i], now->sizes[i]) == 0);
    }
    return same;
}
