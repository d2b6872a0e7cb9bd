/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's memory: blocks that are freed with it, and the monitor's parts in cache lines of their own. */
#include "engine.h"

#define BLOCK_BYTES 8192 /* of steps quantised at once: a quarter of a small first cache */
#define CACHE_LINE 128u  /* bytes: where lines are shorter, they are fetched in pairs */

void *engine_calloc(engine *self, size_t count, size_t size)
{
    void *block = NULL;
    if (self->count < ENGINE_BLOCKS) {
        block = PyMem_Calloc((count != 0u) ? count : 1u, size);
    }
    if (block == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    self->blocks[self->count] = block;
    self->count++;
    return block;
}

/* Allocates zeroed memory in separate cache lines, which no other engine's thread writes to. */
static void *engine_calloc_lines(engine *self, size_t bytes)
{
    char *block = engine_calloc(self, bytes + 2u * CACHE_LINE, 1u);
    return (block == NULL) ? NULL : block + (CACHE_LINE - (uintptr_t)block % CACHE_LINE);
}

/* Allocates one part of the monitor's memory, null if empty, and counts it as the device's storage. */
static void *monitor_calloc(engine *self, size_t count, size_t size)
{
    self->storage += (Py_ssize_t)(count * size);
    return (count == 0u) ? NULL : engine_calloc_lines(self, count * size);
}

int engine_allocate(engine *self)
{
    const tcuq_profile *profile = &self->profile;
    tcuq_monitor *monitor = &self->monitor;
    const size_t past = profile->lags[profile->lag_count - 1u];
    const Py_ssize_t step = (Py_ssize_t)profile->classes + profile->width;
    size_t smoothed = 0u;
    for (uint8_t i = 0u; i < profile->term_count; i++) {
        smoothed = (profile->terms[i].ewma != 0u) ? profile->term_count : smoothed;
    }
    monitor->profile = profile;
    monitor->core = monitor_calloc(self, 1u, sizeof(tcuq_core));
    monitor->slots = monitor_calloc(self, past, sizeof(tcuq_slot));
    monitor->posteriors = monitor_calloc(self, past * profile->classes, sizeof(uint8_t));
    monitor->features = monitor_calloc(self, past * profile->dimensions, sizeof(int8_t));
    monitor->smoothed_q8 = monitor_calloc(self, smoothed, sizeof(int32_t));
    monitor->channels = monitor_calloc(self, profile->channel_count, sizeof(tcuq_channel_state));
    monitor->telemetry = monitor_calloc(self, 1u, sizeof(tcuq_telemetry));
    self->block = (step < BLOCK_BYTES) ? BLOCK_BYTES / (step + 1) : 1;
    self->scratch = engine_calloc_lines(self, (size_t)(self->block * step));
    return PyErr_Occurred() ? -1 : 0;
}
