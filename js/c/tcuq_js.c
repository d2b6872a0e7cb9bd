/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor for wasm32, one per instance. JavaScript reads from these tables where a profile's numbers and arrays
 * lie, writes them, and calls. Memory is taken from the end of the heap and given back down to a mark. */
#include <string.h>

#include "columns.h"
#include "layout.h"
#include "quantize.h"
#include "tcuq.h"

#define EXPORT(name) __attribute__((export_name(#name)))
#define WASM_PAGE 65536u
#define ALIGNMENT 16u
#define CHUNK_BYTES 8192u /* of steps quantised at once */

extern unsigned char __heap_base; /* the linker's: the first byte after data and stack */

static tcuq_profile profile;
static tcuq_monitor monitor;
static quantizer how;
static uintptr_t heap_end;
static uint8_t *scratch;
static size_t scratch_steps;

#define NAME_AND_TYPE(name, type) #name ":" #type " "
static const char column_names[] = COLUMNS(NAME_AND_TYPE);

static const struct {
    void *into;
    const field *fields;
} tables[] = {
    {&profile, profile_fields}, {&how, quantizer_fields}, {NULL, term_fields}, {NULL, channel_fields},
};

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    return __builtin_memcpy(to, from, size); /* one instruction */
}

void *memset(void *to, int byte, size_t size)
{
    return __builtin_memset(to, byte, size); /* one instruction */
}

/* Takes zeroed memory; null if there is no more. */
EXPORT(take) void *take(size_t bytes)
{
    heap_end = (heap_end == 0u) ? (uintptr_t)&__heap_base : heap_end;
    const uintptr_t at = (heap_end + ALIGNMENT - 1u) & ~(uintptr_t)(ALIGNMENT - 1u);
    const uintptr_t held = (uintptr_t)__builtin_wasm_memory_size(0) * WASM_PAGE;
    if (bytes > UINT32_MAX / 2u - at) {
        return NULL;
    }
    const uintptr_t end = at + bytes;
    if ((end > held) && (__builtin_wasm_memory_grow(0, (end - held + WASM_PAGE - 1u) / WASM_PAGE) == (size_t)-1)) {
        return NULL;
    }
    heap_end = end;
    return memset((void *)at, 0, bytes);
}

EXPORT(mark) uintptr_t mark(void)
{
    return heap_end;
}

EXPORT(release) void release(uintptr_t to)
{
    heap_end = to;
}

/* A table of fields (0 the profile's, 1 the quantiser's, 2 a term's, 3 a channel's), and what it is written into. */
EXPORT(fields) const field *fields(uint32_t table)
{
    return tables[table].fields;
}

EXPORT(struct_of) void *struct_of(uint32_t table)
{
    return tables[table].into;
}

EXPORT(columns) const char *columns_of_a_trace(void)
{
    return column_names;
}

/* The rules of the profile's arrays, once its numbers and lags are written; the last has no name. */
EXPORT(arrays) const array_rule *arrays(void)
{
    array_rule *rules = take((PROFILE_ARRAYS + 1u) * sizeof(array_rule));
    if (rules != NULL) {
        profile_arrays(&profile, rules);
    }
    return rules;
}

/* Puts what has no table of its own: lags, weights of the paper's score, terms with their points, channels, outputs. */
EXPORT(put) void put(const uint8_t *lags, uint32_t lag_count, const int16_t *weights, tcuq_term *terms,
                     uint32_t term_count, const tcuq_channel *channels, uint32_t channel_count,
                     const double *centres, const double *scales)
{
    profile.format = TCUQ_PROFILE_FORMAT;
    profile.lag_count = (uint8_t)lag_count;
    memcpy(profile.lags, lags, (lag_count < TCUQ_MAX_LAGS) ? lag_count : TCUQ_MAX_LAGS);
    memcpy(profile.weights, weights, sizeof profile.weights);
    profile.terms = terms;
    profile.term_count = (uint8_t)term_count;
    profile.channels = channels;
    profile.channel_count = (uint8_t)channel_count;
    how.output_centres = centres;
    how.output_scales = scales;
}

EXPORT(put_points) void put_points(tcuq_term *term, const int16_t *points, const uint16_t *bits, uint32_t count)
{
    term->points = points;
    term->bits_q10 = bits;
    term->point_count = (uint8_t)count;
}

EXPORT(open) int32_t open(void)
{
    const size_t past = profile.lags[profile.lag_count - 1u];
    const size_t step = (size_t)profile.classes + profile.width;
    monitor.profile = &profile;
    monitor.core = take(sizeof(tcuq_core));
    monitor.slots = take(past * sizeof(tcuq_slot));
    monitor.posteriors = take(past * profile.classes);
    monitor.features = take(past * profile.dimensions);
    monitor.smoothed_q8 = take(profile.term_count * sizeof(int32_t));
    monitor.channels = take(profile.channel_count * sizeof(tcuq_channel_state));
    monitor.telemetry = take(sizeof(tcuq_telemetry));
    scratch_steps = CHUNK_BYTES / (step + 1u) + 1u;
    scratch = take(scratch_steps * step);
    return (scratch == NULL) ? TCUQ_ERROR_MEMORY : tcuq_init(&monitor);
}

/* Decides on steps, given as the device's bytes, floats or doubles; returns how many came before a chunk with an
 * invalid number. */
EXPORT(run) uint32_t run(const void *posteriors, item as, const void *features, const int16_t *health,
                         uint32_t steps, const columns *to)
{
    const size_t sizes[] = {1u, sizeof(float), sizeof(double)};
    const size_t classes = profile.classes;
    const size_t width = profile.width;
    for (uint32_t begin = 0u; begin < steps;) {
        const size_t left = steps - begin;
        const size_t count = (left < scratch_steps) ? left : scratch_steps;
        const void *rows = (const char *)posteriors + begin * classes * sizes[as];
        const void *wide = (const char *)features + begin * width * sizes[as];
        const uint8_t *bytes = rows;
        const int8_t *narrow = (width == 0u) ? NULL : wide;
        if (as != ITEM_BYTE) {
            int8_t *const into = (int8_t *)&scratch[count * classes];
            bytes = scratch;
            narrow = (width == 0u) ? NULL : into;
            if (!((how.output_centres == NULL) ? quantize_posteriors : quantize_outputs)(&how, rows, as, classes,
                                                                                         count, scratch) ||
                !quantize_features(&how, wide, as, count * width, into)) {
                return begin;
            }
        }
        for (size_t i = 0u; i < count; i++) {
            const int16_t *statistics = (health == NULL) ? NULL : &health[(begin + i) * profile.health_count];
            columns_step(&monitor, &bytes[i * classes], (narrow == NULL) ? NULL : &narrow[i * width], statistics,
                         how.promise != 0u, to, begin + i);
        }
        begin += (uint32_t)count;
    }
    return steps;
}

EXPORT(reset) void reset(void)
{
    tcuq_reset(&monitor);
}

EXPORT(reset_history) void reset_history(void)
{
    tcuq_reset_history(&monitor);
}

EXPORT(acknowledge) void acknowledge(void)
{
    tcuq_alarm_acknowledge(&monitor);
}

EXPORT(alarm_stands) int32_t alarm_stands(void)
{
    return tcuq_alarm_stands(&monitor) ? 1 : 0;
}

EXPORT(snapshot_size) uint32_t snapshot_size(void)
{
    return tcuq_snapshot_size(&monitor);
}

EXPORT(snapshot) int32_t snapshot(uint8_t *buffer, uint32_t size)
{
    return tcuq_snapshot(&monitor, buffer, size);
}

EXPORT(restore) int32_t restore(const uint8_t *buffer, uint32_t size)
{
    return tcuq_restore(&monitor, buffer, size);
}

EXPORT(error) const char *error(int32_t status)
{
    return tcuq_strerror((tcuq_status)status);
}
