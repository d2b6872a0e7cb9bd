/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the spec, a dict from tcuq.profile.quantize, into the runtime's structs. */
#include <string.h>

#include "engine.h"

#define PROFILE(name, kind) {#name, offsetof(tcuq_profile, name), kind, 0}
#define TERM(name, kind) {#name, offsetof(tcuq_term, name), kind, 0}
#define CHANNEL(name, kind, count) {#name, offsetof(tcuq_channel, name), kind, count}
#define QUANTIZER(name, kind) {#name, offsetof(quantizer, name), kind, 0}
#define END {NULL, 0, U8, 0}

static const field profile_fields[] = {
    PROFILE(hash, U32),
    PROFILE(classes, U16),
    PROFILE(width, U16),
    PROFILE(dimensions, U8),
    PROFILE(blend_q15, U16),
    PROFILE(mix_q15, U16),
    PROFILE(projection_shift, U8),
    PROFILE(mean_count, U16),
    PROFILE(novelty_exponent, U8),
    PROFILE(health_count, U8),
    PROFILE(stay_q8, U16),
    PROFILE(rest_q8, U16),
    PROFILE(change_q8, U16),
    PROFILE(weight_shift, U8),
    PROFILE(bias_q16, I32),
    PROFILE(error_bias_q16, I32),
    PROFILE(novelty_limit_q10, U16),
    PROFILE(withhold_denied, U8),
    PROFILE(adaptive, U8),
    PROFILE(alpha_q16, U16),
    PROFILE(step, U16),
    PROFILE(start, U16),
    PROFILE(anchor, U16),
    PROFILE(warmup, U32),
    PROFILE(rate_q16, U32),
    PROFILE(burst_q16, U32),
    PROFILE(alarm_limit, U32),
    PROFILE(epoch_steps, U32),
    END,
};

static const field term_fields[] = {
    TERM(signal, U8),
    TERM(ewma, U8),
    TERM(dead_q10, U16),
    TERM(cap_q10, U16),
    TERM(weight_q8, U16),
    TERM(error_q8, U16),
    TERM(novelty_q8, U16),
    TERM(slope_q8, U16),
    TERM(start_q10, U16),
    END,
};

static const field channel_fields[] = {
    CHANNEL(signal, U8, 0),
    CHANNEL(flag, U8, 0),
    CHANNEL(two_sided, U8, 0),
    CHANNEL(block, U16, 0),
    CHANNEL(boot_limit_q8, U16, 0),
    CHANNEL(centre, I32, 0),
    CHANNEL(edges, I32, TCUQ_EDGES),
    CHANNEL(gains_q8, I16, TCUQ_EDGES + 1),
    CHANNEL(counts, U16, TCUQ_COUNTS),
    END,
};

static const field quantizer_fields[] = {
    QUANTIZER(logits, U8),
    QUANTIZER(promise, U8),
    QUANTIZER(feature_scale, F64),
    QUANTIZER(max_magnitude, F64),
    QUANTIZER(sum_tolerance, F64),
    END,
};

/* How many items of which size an array has, and whether it may be None. */
typedef struct {
    size_t size;
    size_t least;
    size_t most;
    bool needed;
} extent;

static extent exactly(size_t count, size_t size, bool needed)
{
    const extent one = {size, count, count, needed};
    return one;
}

/* Copies an array into the engine's memory, with its length; null if it is None, or with an error set. */
static const void *read_array(engine *self, const place *at, const char *name, extent items,
                              size_t *count)
{
    Py_buffer view;
    void *copy = NULL;
    PyObject *value = field_value(at, name);
    if (value == Py_None) {
        if (items.needed) {
            (void)wrong_field(at, name, PyExc_ValueError, "None");
        }
    } else if ((value != NULL) && (view_of(value, at->prefix, name, PyBUF_SIMPLE, &view) == 0)) {
        const size_t bytes = (size_t)view.len;
        *count = bytes / items.size;
        if ((bytes % items.size != 0u) || (*count < items.least) || (*count > items.most)) {
            PyErr_Format(PyExc_ValueError, "%s%s: %zd bytes, not %zu..%zu items of %zu", at->prefix,
                         name, view.len, items.least, items.most, items.size);
        } else {
            copy = engine_calloc(self, *count, items.size);
        }
        if ((copy != NULL) && (bytes != 0u)) {
            memcpy(copy, view.buf, bytes);
        }
        PyBuffer_Release(&view);
    }
    Py_XDECREF(value);
    return copy;
}

/* How outputs are rounded, given exactly where there are no classes. */
static int read_outputs(engine *self, const place *at)
{
    quantizer *how = &self->quantizer;
    const bool needed = self->profile.blend_q15 == TCUQ_NO_CLASSES;
    const extent numbers = exactly(self->profile.classes, sizeof(double), needed);
    size_t count;
    how->output_centres = read_array(self, at, "output_centres", numbers, &count);
    how->output_scales = PyErr_Occurred() ? NULL : read_array(self, at, "output_scales", numbers, &count);
    if (!PyErr_Occurred() && !needed && ((how->output_centres != NULL) || (how->output_scales != NULL))) {
        return wrong_field(at, "output_centres", PyExc_ValueError, "not None with classes");
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_arrays(engine *self, const place *at)
{
    tcuq_profile *profile = &self->profile;
    const size_t rows = profile->dimensions;
    const size_t groups = (rows + 3u) / 4u;
    const extent some = {1u, 1u, TCUQ_MAX_LAGS, true};
    size_t lags = 0u;
    size_t count;
    const void *copy = read_array(self, at, "lags", some, &lags);
    if (copy == NULL) {
        return -1;
    }
    memcpy(profile->lags, copy, lags);
    profile->lag_count = (uint8_t)lags;
    const struct {
        const char *name;
        size_t offset;
        extent items;
    } arrays[] = {
#define ARRAY(name, count, type, needed)                                                            \
    {#name, offsetof(tcuq_profile, name), exactly(count, sizeof(type), needed)}
        ARRAY(lag_weights_q15, lags *(lags + 1u) / 2u, uint16_t, true),
        ARRAY(projection, rows *profile->width, int8_t, false),
        ARRAY(projection_bias, rows, int32_t, false),
        ARRAY(whitening, groups *(groups + 1u) * 2u, uint64_t, false),
        ARRAY(whitening_shift, 4u * groups, uint8_t, false),
        ARRAY(means, 4u * groups *profile->mean_count, int16_t, false),
        ARRAY(mean_squares, profile->mean_count, int32_t, false),
        ARRAY(health_means, profile->health_count, int16_t, false),
        ARRAY(health_weights_q9, profile->health_count, uint16_t, false),
    };
    for (size_t i = 0u; i < sizeof arrays / sizeof arrays[0]; i++) {
        copy = read_array(self, at, arrays[i].name, arrays[i].items, &count);
        memcpy((char *)profile + arrays[i].offset, &copy, sizeof copy);
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    if (read_outputs(self, at) < 0) {
        return -1;
    }
    copy = read_array(self, at, "weights", exactly(4u, sizeof(int16_t), profile->weight_shift != 0u), &count);
    if (copy != NULL) {
        memcpy(profile->weights, copy, sizeof profile->weights);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static int read_term(engine *self, const place *at, void *entry)
{
    tcuq_term *term = entry;
    const extent some = {sizeof(int16_t), 1u, TCUQ_MAX_POINTS, true};
    size_t count = 0u;
    if (read_fields(at, term_fields, term) < 0) {
        return -1;
    }
    term->points = read_array(self, at, "points", some, &count);
    if (term->points == NULL) {
        return -1;
    }
    term->point_count = (uint8_t)count;
    term->bits_q10 = read_array(self, at, "bits_q10", exactly(count, sizeof(uint16_t), true), &count);
    return (term->bits_q10 == NULL) ? -1 : 0;
}

static int read_channel(engine *self, const place *at, void *entry)
{
    (void)self;
    return read_fields(at, channel_fields, entry);
}

/* A list of dicts, as entries of `size` bytes each. */
typedef struct {
    const char *name;
    Py_ssize_t most;
    size_t size;
    int (*read)(engine *self, const place *at, void *entry);
} entries;

/* Entry by entry: reading one may run code that shortens the list. */
static int read_entries(engine *self, const entries *what, PyObject *list, Py_ssize_t count, char *into)
{
    int done = (into == NULL) ? -1 : 0;
    for (Py_ssize_t i = 0; (done == 0) && (i < count); i++) {
        place at = {PyList_GetItem(list, i), ""};
        PyOS_snprintf(at.prefix, sizeof at.prefix, "%s[%d].", what->name, (int)i);
        if (at.dict == NULL) {
            return -1;
        }
        if (!PyDict_Check(at.dict)) {
            PyErr_Format(PyExc_TypeError, "%s[%zd]: not a dict", what->name, i);
            return -1;
        }
        Py_INCREF(at.dict);
        done = what->read(self, &at, &into[(size_t)i * what->size]);
        Py_DECREF(at.dict);
    }
    return done;
}

static const void *read_list(engine *self, const place *at, entries what, uint8_t *count)
{
    void *into = NULL;
    PyObject *list = field_value(at, what.name);
    if ((list != NULL) && (list != Py_None)) {
        const Py_ssize_t size = PyList_Check(list) ? PyList_Size(list) : -1;
        if (size < 0) {
            (void)wrong_field(at, what.name, PyExc_TypeError, "neither None nor a list");
        } else if ((size < 1) || (size > what.most)) {
            PyErr_Format(PyExc_ValueError, "%s: %zd entries, not 1..%zd", what.name, size, what.most);
        } else {
            into = engine_calloc(self, (size_t)size, what.size);
            (void)read_entries(self, &what, list, size, into);
            *count = (uint8_t)size;
        }
    }
    Py_XDECREF(list);
    return into;
}

int engine_read(engine *self, PyObject *spec)
{
    const place top = {spec, ""};
    const entries terms = {"terms", TCUQ_MAX_TERMS, sizeof(tcuq_term), read_term};
    const entries channels = {"channels", TCUQ_MAX_CHANNELS, sizeof(tcuq_channel), read_channel};
    tcuq_profile *profile = &self->profile;
    profile->format = TCUQ_PROFILE_FORMAT;
    if ((read_fields(&top, profile_fields, profile) < 0) ||
        (read_fields(&top, quantizer_fields, &self->quantizer) < 0)) {
        return -1;
    }
    profile->terms = read_list(self, &top, terms, &profile->term_count);
    if (PyErr_Occurred() || (read_arrays(self, &top) < 0)) {
        return -1;
    }
    profile->channels = read_list(self, &top, channels, &profile->channel_count);
    return (PyErr_Occurred() || (engine_allocate(self) < 0)) ? -1 : 0;
}
