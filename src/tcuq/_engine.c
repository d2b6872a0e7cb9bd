/* SPDX-License-Identifier: Apache-2.0 */
/* tcuq.runtime._engine: the C runtime as a Python type. Limited API of 3.11: one build for all later ones.
 *
 * An Engine owns copies of its profile's arrays and the monitor's memory, and no Python object.
 * Python code runs only while arguments are read, never between the busy check and the runtime. */
#ifndef Py_LIMITED_API /* CMake says it too */
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "tcuq.h"
#include "tcuq_internal.h"

/* Nine arrays, terms and two arrays each, channels, seven parts of the monitor's memory. */
#define ENGINE_BLOCKS (9 + 1 + 2 * (int)TCUQ_MAX_TERMS + 1 + 7)

typedef struct {
    PyObject ob_base;
    tcuq_profile profile;
    tcuq_monitor monitor;
    Py_ssize_t storage;
    int busy; /* set and read with the GIL held */
    int count;
    void *blocks[ENGINE_BLOCKS];
} engine;

/* ---- reading the spec ---- */

typedef enum { KIND_U8, KIND_U16, KIND_I16, KIND_U32, KIND_I32 } kind;

typedef struct {
    const char *name;
    size_t offset;
    kind kind;
} field;

#define PROFILE(name, kind) {#name, offsetof(tcuq_profile, name), kind}
#define TERM(name, kind) {#name, offsetof(tcuq_term, name), kind}
#define CHANNEL(name, kind) {#name, offsetof(tcuq_channel, name), kind}

static const field profile_fields[] = {
    PROFILE(hash, KIND_U32),
    PROFILE(classes, KIND_U16),
    PROFILE(width, KIND_U16),
    PROFILE(dimensions, KIND_U8),
    PROFILE(blend_q15, KIND_U16),
    PROFILE(mix_q15, KIND_U16),
    PROFILE(projection_shift, KIND_U8),
    PROFILE(mean_count, KIND_U16),
    PROFILE(novelty_exponent, KIND_U8),
    PROFILE(weight_shift, KIND_U8),
    PROFILE(bias_q16, KIND_I32),
    PROFILE(adaptive, KIND_U8),
    PROFILE(alpha_q16, KIND_U16),
    PROFILE(step, KIND_U16),
    PROFILE(start, KIND_U16),
    PROFILE(anchor, KIND_U16),
    PROFILE(warmup, KIND_U32),
    PROFILE(rate_q16, KIND_U32),
    PROFILE(burst_q16, KIND_U32),
    {NULL, 0, KIND_U8},
};

static const field term_fields[] = {
    TERM(signal, KIND_U8),
    TERM(lower, KIND_U8),
    TERM(ewma, KIND_U8),
    TERM(dead_q10, KIND_U16),
    TERM(cap_q10, KIND_U16),
    TERM(weight_q8, KIND_U16),
    TERM(slope_q8, KIND_U16),
    TERM(start, KIND_I16),
    {NULL, 0, KIND_U8},
};

static const field channel_fields[] = {
    CHANNEL(signal, KIND_U8),
    CHANNEL(flag, KIND_U8),
    CHANNEL(two_sided, KIND_U8),
    CHANNEL(block, KIND_U16),
    CHANNEL(limit_q8, KIND_U16),
    CHANNEL(centre, KIND_I32),
    {NULL, 0, KIND_U8},
};

/* A dict of the spec and what its fields are called in errors. */
typedef struct {
    PyObject *dict;
    char prefix[24]; /* "", "terms[0]." */
} place;

/* A new reference to a field's value; null with an error set if it is missing. */
static PyObject *field_value(const place *at, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    if (key == NULL) {
        return NULL;
    }
    PyObject *value = PyDict_GetItemWithError(at->dict, key);
    Py_XINCREF(value);
    Py_DECREF(key);
    if ((value == NULL) && !PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%s%s: missing", at->prefix, name);
    }
    return value;
}

/* Stores an integer as a C type; -1 with an error set if it is none or out of range. */
static int store_int(const place *at, const char *name, PyObject *value, kind as, void *to)
{
    static const long long least[] = {0, 0, INT16_MIN, 0, INT32_MIN};
    static const long long most[] = {UINT8_MAX, UINT16_MAX, INT16_MAX, UINT32_MAX, INT32_MAX};
    int overflow = 0;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    if (index == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_TypeError, "%s%s: not an integer", at->prefix, name);
        }
        return -1;
    }
    const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if ((number == -1) && PyErr_Occurred()) {
        return -1;
    }
    if ((overflow != 0) || (number < least[as]) || (number > most[as])) {
        PyErr_Format(PyExc_ValueError, "%s%s: not in %lld..%lld", at->prefix, name, least[as],
                     most[as]);
        return -1;
    }
    switch (as) {
    case KIND_U8:
        *(uint8_t *)to = (uint8_t)number;
        break;
    case KIND_U16:
        *(uint16_t *)to = (uint16_t)number;
        break;
    case KIND_I16:
        *(int16_t *)to = (int16_t)number;
        break;
    case KIND_U32:
        *(uint32_t *)to = (uint32_t)number;
        break;
    default:
        *(int32_t *)to = (int32_t)number;
        break;
    }
    return 0;
}

static int read_ints(const place *at, const field *fields, void *into)
{
    for (const field *f = fields; f->name != NULL; f++) {
        PyObject *value = field_value(at, f->name);
        if (value == NULL) {
            return -1;
        }
        const int stored = store_int(at, f->name, value, f->kind, (char *)into + f->offset);
        Py_DECREF(value);
        if (stored < 0) {
            return -1;
        }
    }
    return 0;
}

/* A sequence of exactly `count` integers. */
static int read_row(const place *at, const char *name, kind as, size_t size, Py_ssize_t count,
                    void *into)
{
    PyObject *row = field_value(at, name);
    if (row == NULL) {
        return -1;
    }
    int done = -1;
    if (!PyList_Check(row) && !PyTuple_Check(row)) {
        PyErr_Format(PyExc_TypeError, "%s%s: neither a list nor a tuple", at->prefix, name);
    } else if (PySequence_Size(row) != count) {
        PyErr_Format(PyExc_ValueError, "%s%s: not of %zd integers", at->prefix, name, count);
    } else {
        done = 0;
    }
    for (Py_ssize_t i = 0; (done == 0) && (i < count); i++) {
        PyObject *value = PySequence_GetItem(row, i);
        char *to = (char *)into + (size_t)i * size;
        done = (value == NULL) ? -1 : store_int(at, name, value, as, to);
        Py_XDECREF(value);
    }
    Py_DECREF(row);
    return done;
}

/* Zeroed memory that lives as long as the engine. */
static void *engine_own(engine *self, size_t count, size_t size)
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

/* A view of an object's bytes; `name` says whose in errors. */
static int view_of(PyObject *value, const char *prefix, const char *name, int flags,
                   Py_buffer *view)
{
    if (PyObject_GetBuffer(value, view, flags) == 0) {
        return 0;
    }
    if (!PyObject_CheckBuffer(value)) {
        PyErr_Format(PyExc_TypeError, "%s%s: not bytes-like", prefix, name);
    }
    return -1;
}

/* What an array's byte length must be: least..most, a multiple of size. */
typedef struct {
    size_t size;
    size_t least;
    size_t most;
} extent;

static extent exactly(size_t count, size_t size)
{
    const extent one = {size, count, count};
    return one;
}

/* Copies an array the engine then owns: its items to *count; *into stays null if it is None. */
static int read_array(engine *self, const place *at, const char *name, extent items,
                      const void **into, size_t *count)
{
    Py_buffer view;
    *into = NULL;
    PyObject *value = field_value(at, name);
    if (value == NULL) {
        return -1;
    }
    if (value == Py_None) {
        Py_DECREF(value);
        return 0;
    }
    const int viewed = view_of(value, at->prefix, name, PyBUF_SIMPLE, &view);
    Py_DECREF(value);
    if (viewed < 0) {
        return -1;
    }
    const size_t bytes = (size_t)view.len;
    if ((bytes % items.size != 0u) || (bytes < items.least * items.size) ||
        (bytes > items.most * items.size)) {
        PyErr_Format(PyExc_ValueError, "%s%s: %zd bytes, not %zu..%zu items of %zu", at->prefix,
                     name, view.len, items.least, items.most, items.size);
        PyBuffer_Release(&view);
        return -1;
    }
    void *copy = engine_own(self, bytes / items.size, items.size);
    if ((copy != NULL) && (bytes != 0u)) {
        memcpy(copy, view.buf, bytes);
    }
    PyBuffer_Release(&view);
    *into = copy;
    if (count != NULL) {
        *count = bytes / items.size;
    }
    return (copy == NULL) ? -1 : 0;
}

/* As read_array, for an array that may not be None. */
static int need_array(engine *self, const place *at, const char *name, extent items,
                      const void **into, size_t *count)
{
    if (read_array(self, at, name, items, into, count) < 0) {
        return -1;
    }
    if (*into == NULL) {
        PyErr_Format(PyExc_ValueError, "%s%s: None", at->prefix, name);
        return -1;
    }
    return 0;
}

static int read_arrays(engine *self, const place *at)
{
    tcuq_profile *profile = &self->profile;
    const size_t rows = profile->dimensions;
    const size_t groups = (rows + 3u) / 4u;
    const extent lags = {1u, 1u, TCUQ_MAX_LAGS};
    const void *copy;
    size_t count = 0u;
    if (need_array(self, at, "lags", lags, &copy, &count) < 0) {
        return -1;
    }
    memcpy(profile->lags, copy, count);
    profile->lag_count = (uint8_t)count;
    const struct {
        const char *name;
        extent items;
        bool needed;
    } arrays[] = {
        {"lag_weights_q15", exactly(count * (count + 1u) / 2u, sizeof(uint16_t)), true},
        {"projection", exactly(rows * profile->width, sizeof(int8_t)), false},
        {"projection_bias", exactly(rows, sizeof(int32_t)), false},
        {"whitening", exactly(groups * (groups + 1u) * 2u, sizeof(uint64_t)), false},
        {"whitening_shift", exactly(4u * groups, sizeof(uint8_t)), false},
        {"means", exactly(4u * groups * profile->mean_count, sizeof(int16_t)), false},
        {"mean_squares", exactly(profile->mean_count, sizeof(int32_t)), false},
        {"weights", exactly(4u, sizeof(int16_t)), false},
    };
    const void *copies[8];
    for (size_t i = 0u; i < 8u; i++) {
        const int done =
            arrays[i].needed
                ? need_array(self, at, arrays[i].name, arrays[i].items, &copies[i], NULL)
                : read_array(self, at, arrays[i].name, arrays[i].items, &copies[i], NULL);
        if (done < 0) {
            return -1;
        }
    }
    profile->lag_weights_q15 = copies[0];
    profile->projection = copies[1];
    profile->projection_bias = copies[2];
    profile->whitening = copies[3];
    profile->whitening_shift = copies[4];
    profile->means = copies[5];
    profile->mean_squares = copies[6];
    if (copies[7] != NULL) {
        memcpy(profile->weights, copies[7], sizeof profile->weights);
    } else if (profile->terms == NULL) {
        PyErr_SetString(PyExc_ValueError, "weights: None, and no terms either");
        return -1;
    }
    return 0;
}

static int read_term(engine *self, const place *at, tcuq_term *term)
{
    const extent some = {sizeof(int16_t), 1u, TCUQ_MAX_POINTS};
    const void *points;
    const void *bits;
    size_t count = 0u;
    if ((read_ints(at, term_fields, term) < 0) ||
        (need_array(self, at, "points", some, &points, &count) < 0) ||
        (need_array(self, at, "bits_q10", exactly(count, sizeof(uint16_t)), &bits, NULL) < 0)) {
        return -1;
    }
    term->point_count = (uint8_t)count;
    term->points = points;
    term->bits_q10 = bits;
    return 0;
}

static int read_channel(const place *at, tcuq_channel *channel)
{
    if ((read_ints(at, channel_fields, channel) < 0) ||
        (read_row(at, "edges", KIND_I32, sizeof(int32_t), 3, channel->edges) < 0)) {
        return -1;
    }
    return read_row(at, "gains_q8", KIND_I16, sizeof(int16_t), 4, channel->gains_q8);
}

/* The list behind a field, a new reference, or Py_None; at most `most` entries. */
static PyObject *list_field(const place *at, const char *name, Py_ssize_t most, Py_ssize_t *count)
{
    PyObject *list = field_value(at, name);
    *count = 0;
    if ((list == NULL) || (list == Py_None)) {
        return list;
    }
    if (!PyList_Check(list)) {
        PyErr_Format(PyExc_TypeError, "%s: neither None nor a list", name);
    } else {
        *count = PyList_Size(list);
        if ((*count >= 1) && (*count <= most)) {
            return list;
        }
        PyErr_Format(PyExc_ValueError, "%s: %zd entries, not 1..%zd", name, *count, most);
    }
    Py_DECREF(list);
    return NULL;
}

/* One dict of a list, a new reference; reading may have run code that shortened the list. */
static int entry_at(PyObject *list, const char *name, Py_ssize_t i, place *entry)
{
    PyOS_snprintf(entry->prefix, sizeof entry->prefix, "%s[%d].", name, (int)i);
    entry->dict = PyList_GetItem(list, i);
    Py_XINCREF(entry->dict);
    if (entry->dict == NULL) {
        return -1;
    }
    if (!PyDict_Check(entry->dict)) {
        PyErr_Format(PyExc_TypeError, "%s[%zd]: not a dict", name, i);
        Py_CLEAR(entry->dict);
        return -1;
    }
    return 0;
}

static int read_terms(engine *self, const place *at)
{
    Py_ssize_t count;
    PyObject *list = list_field(at, "terms", (Py_ssize_t)TCUQ_MAX_TERMS, &count);
    int done = (list == NULL) ? -1 : 0;
    if ((done == 0) && (count > 0)) {
        tcuq_term *terms = engine_own(self, (size_t)count, sizeof *terms);
        done = (terms == NULL) ? -1 : 0;
        for (Py_ssize_t i = 0; (done == 0) && (i < count); i++) {
            place entry;
            done = entry_at(list, "terms", i, &entry);
            if (done == 0) {
                done = read_term(self, &entry, &terms[i]);
                Py_DECREF(entry.dict);
            }
        }
        self->profile.terms = terms;
        self->profile.term_count = (uint8_t)count;
    }
    Py_XDECREF(list);
    return done;
}

static int read_channels(engine *self, const place *at)
{
    Py_ssize_t count;
    PyObject *list = list_field(at, "channels", (Py_ssize_t)TCUQ_MAX_CHANNELS, &count);
    int done = (list == NULL) ? -1 : 0;
    if ((done == 0) && (count > 0)) {
        tcuq_channel *channels = engine_own(self, (size_t)count, sizeof *channels);
        done = (channels == NULL) ? -1 : 0;
        for (Py_ssize_t i = 0; (done == 0) && (i < count); i++) {
            place entry;
            done = entry_at(list, "channels", i, &entry);
            if (done == 0) {
                done = read_channel(&entry, &channels[i]);
                Py_DECREF(entry.dict);
            }
        }
        self->profile.channels = channels;
        self->profile.channel_count = (uint8_t)count;
    }
    Py_XDECREF(list);
    return done;
}

/* ---- making an engine ---- */

/* One part of the monitor's memory, null if empty: counts towards what a device keeps. */
static void *engine_keep(engine *self, size_t count, size_t size)
{
    if (count == 0u) {
        return NULL;
    }
    self->storage += (Py_ssize_t)(count * size);
    return engine_own(self, count, size);
}

static int engine_allocate(engine *self)
{
    const tcuq_profile *profile = &self->profile;
    tcuq_monitor *monitor = &self->monitor;
    const size_t past = profile->lags[profile->lag_count - 1u];
    size_t smoothed = 0u;
    for (uint8_t i = 0u; i < profile->term_count; i++) {
        smoothed = (profile->terms[i].ewma != 0u) ? profile->term_count : smoothed;
    }
    monitor->profile = profile;
    monitor->core = engine_keep(self, 1u, sizeof(tcuq_core));
    monitor->slots = engine_keep(self, past, sizeof(tcuq_slot));
    monitor->posteriors = engine_keep(self, past * profile->classes, sizeof(uint8_t));
    monitor->features = engine_keep(self, past * profile->dimensions, sizeof(int8_t));
    monitor->smoothed_q8 = engine_keep(self, smoothed, sizeof(int32_t));
    monitor->channels = engine_keep(self, profile->channel_count, sizeof(tcuq_channel_state));
    monitor->telemetry = engine_keep(self, 1u, sizeof(tcuq_telemetry));
    return PyErr_Occurred() ? -1 : 0;
}

static int engine_fill(engine *self, PyObject *spec)
{
    const place top = {spec, ""};
    self->profile.format = TCUQ_PROFILE_FORMAT;
    if ((read_ints(&top, profile_fields, &self->profile) < 0) || (read_terms(self, &top) < 0) ||
        (read_arrays(self, &top) < 0) || (read_channels(self, &top) < 0) ||
        (engine_allocate(self) < 0)) {
        return -1;
    }
    const tcuq_status status = tcuq_init(&self->monitor);
    if (status != TCUQ_OK) {
        PyErr_SetString(PyExc_ValueError, tcuq_strerror(status));
        return -1;
    }
    return 0;
}

static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *spec;
    static char name[] = "spec";
    static char *names[] = {name, NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Engine", names, &spec)) {
        return NULL;
    }
    if (!PyDict_Check(spec)) {
        PyErr_SetString(PyExc_TypeError, "spec: not a dict");
        return NULL;
    }
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    engine *self = (engine *)allocate(type, 0); /* zeroed */
    if ((self != NULL) && (engine_fill(self, spec) < 0)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void engine_dealloc(PyObject *object)
{
    engine *self = (engine *)object;
    PyTypeObject *type = Py_TYPE(object);
    while (self->count > 0) {
        self->count--;
        PyMem_Free(self->blocks[self->count]);
    }
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---- one step ---- */

static int engine_free_to_use(const engine *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "this monitor is in use by another thread");
        return -1;
    }
    return 0;
}

/* The views of one step or of many; features' buf is null where there are none. */
typedef struct {
    Py_buffer posterior;
    Py_buffer features;
} inputs;

static void inputs_release(inputs *in)
{
    PyBuffer_Release(&in->posterior);
    if (in->features.obj != NULL) {
        PyBuffer_Release(&in->features);
    }
}

static int wrong_size(const char *name, Py_ssize_t found, Py_ssize_t rows, Py_ssize_t width)
{
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes, not %zd x %zd", name, found, rows, width);
    return -1;
}

/* Features of `rows` steps; None if and only if the profile has none. */
static int view_features(const engine *self, PyObject *features, Py_ssize_t rows, Py_buffer *view)
{
    const Py_ssize_t width = self->profile.width;
    view->obj = NULL;
    view->buf = NULL;
    if (width == 0) {
        if (features == Py_None) {
            return 0;
        }
        PyErr_SetString(PyExc_ValueError, "features: this profile takes none");
        return -1;
    }
    if (features == Py_None) {
        PyErr_SetString(PyExc_ValueError, "features: None, but this profile takes them");
        return -1;
    }
    if (view_of(features, "", "features", PyBUF_SIMPLE, view) < 0) {
        return -1;
    }
    if ((view->len % width != 0) || (view->len / width != rows)) {
        (void)wrong_size("features", view->len, rows, width);
        PyBuffer_Release(view);
        return -1;
    }
    return 0;
}

static int inputs_of_step(const engine *self, PyObject *const *args, Py_ssize_t count, inputs *in)
{
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "expected posterior and features, got %zd arguments", count);
        return -1;
    }
    if (view_of(args[0], "", "posterior", PyBUF_SIMPLE, &in->posterior) < 0) {
        return -1;
    }
    int done = 0;
    if (in->posterior.len != (Py_ssize_t)self->profile.classes) {
        done = wrong_size("posterior", in->posterior.len, 1, self->profile.classes);
    } else {
        done = view_features(self, args[1], 1, &in->features);
    }
    if (done < 0) {
        PyBuffer_Release(&in->posterior);
        return -1;
    }
    if (engine_free_to_use(self) < 0) {
        inputs_release(in);
        return -1;
    }
    return 0;
}

/* A tuple of small integers. */
static PyObject *tuple_of(const long *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; (tuple != NULL) && (i < count); i++) {
        PyObject *value = PyLong_FromLong(values[i]);
        if ((value == NULL) || (PyTuple_SetItem(tuple, i, value) < 0)) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

static PyObject *engine_step(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    tcuq_decision d;
    inputs in;
    if (inputs_of_step(self, args, count, &in) < 0) {
        return NULL;
    }
    tcuq_step(&self->monitor, in.posterior.buf, in.features.buf, &d);
    inputs_release(&in);
    const long values[] = {d.label, d.risk, d.threshold_q16, d.exceeded, d.outcome, d.alarm};
    return tuple_of(values, 6);
}

static PyObject *engine_signals(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    tcuq_signals s;
    inputs in;
    if (inputs_of_step(self, args, count, &in) < 0) {
        return NULL;
    }
    tcuq_signals_all(&self->monitor, in.posterior.buf, in.features.buf, &s);
    inputs_release(&in);
    const long values[] = {
        s.label,
        (long)s.confidence_q16,
        s.values_q15[TCUQ_DIVERGENCE],
        s.values_q15[TCUQ_INSTABILITY],
        s.values_q15[TCUQ_INCONSISTENCY],
        s.values_q15[TCUQ_DOUBT],
        s.low_confidence_q10,
        s.novelty_q10,
        s.whole_past ? 1 : 0,
    };
    return tuple_of(values, 9);
}

/* ---- many steps ---- */

#define OUTPUTS 6

static const struct {
    const char *name;
    Py_ssize_t size;
} outputs[OUTPUTS] = {
    {"label", 4}, {"risk", 2}, {"threshold_q16", 4}, {"exceeded", 1}, {"outcome", 1}, {"alarm", 1},
};

/* The loop, without the GIL. Outputs may be unaligned. */
static void run_steps(const tcuq_monitor *monitor, const inputs *in, const Py_buffer *out,
                      Py_ssize_t rows)
{
    const uint8_t *posterior = in->posterior.buf;
    const int8_t *features = in->features.buf;
    char *label = out[0].buf;
    char *risk = out[1].buf;
    char *threshold = out[2].buf;
    uint8_t *exceeded = out[3].buf;
    uint8_t *outcome = out[4].buf;
    uint8_t *alarm = out[5].buf;
    for (Py_ssize_t i = 0; i < rows; i++) {
        tcuq_decision d;
        tcuq_step(monitor, posterior, features, &d);
        const int32_t wide = d.label;
        memcpy(&label[4 * i], &wide, sizeof wide);
        memcpy(&risk[2 * i], &d.risk, sizeof d.risk);
        memcpy(&threshold[4 * i], &d.threshold_q16, sizeof d.threshold_q16);
        exceeded[i] = d.exceeded;
        outcome[i] = d.outcome;
        alarm[i] = d.alarm;
        posterior += monitor->profile->classes;
        if (features != NULL) {
            features += monitor->profile->width;
        }
    }
}

static PyObject *run_into(engine *self, PyObject *const *args, const inputs *in, Py_ssize_t rows)
{
    Py_buffer out[OUTPUTS];
    int held = 0;
    bool sound = true;
    while (sound && (held < OUTPUTS)) {
        Py_buffer *view = &out[held];
        const Py_ssize_t size = outputs[held].size;
        sound = view_of(args[held], "", outputs[held].name, PyBUF_WRITABLE, view) == 0;
        if (sound) {
            if ((view->len % size != 0) || (view->len / size != rows)) {
                (void)wrong_size(outputs[held].name, view->len, rows, size);
                sound = false;
            }
            held++;
        }
    }
    sound = sound && (engine_free_to_use(self) == 0);
    if (sound) {
        self->busy = 1;
        Py_BEGIN_ALLOW_THREADS
        run_steps(&self->monitor, in, out, rows);
        Py_END_ALLOW_THREADS
        self->busy = 0;
    }
    while (held > 0) {
        held--;
        PyBuffer_Release(&out[held]);
    }
    return sound ? Py_NewRef(Py_None) : NULL;
}

static PyObject *engine_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    const Py_ssize_t classes = self->profile.classes;
    PyObject *result = NULL;
    inputs in;
    if (count != 2 + OUTPUTS) {
        return PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", 2 + OUTPUTS, count);
    }
    if (view_of(args[0], "", "posteriors", PyBUF_SIMPLE, &in.posterior) < 0) {
        return NULL;
    }
    const Py_ssize_t rows = in.posterior.len / classes;
    if (in.posterior.len % classes != 0) {
        (void)wrong_size("posteriors", in.posterior.len, rows, classes);
    } else if (view_features(self, args[1], rows, &in.features) == 0) {
        result = run_into(self, &args[2], &in, rows);
        inputs_release(&in);
        return result;
    }
    PyBuffer_Release(&in.posterior);
    return NULL;
}

/* ---- the rest ---- */

static PyObject *engine_reset(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    tcuq_reset(&self->monitor);
    return Py_NewRef(Py_None);
}

static PyObject *engine_reset_history(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    tcuq_reset_history(&self->monitor);
    return Py_NewRef(Py_None);
}

static PyObject *engine_epoch_evidence(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    return (engine_free_to_use(self) < 0)
               ? NULL
               : PyLong_FromLong((long)tcuq_epoch_evidence(&self->monitor));
}

static PyObject *engine_end_epoch(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const long evidence = tcuq_epoch_evidence(&self->monitor);
    tcuq_end_epoch(&self->monitor);
    return PyLong_FromLong(evidence);
}

static PyObject *engine_snapshot(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const uint32_t size = tcuq_snapshot_size(&self->monitor);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes != NULL) {
        (void)tcuq_snapshot(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), size);
    }
    return bytes;
}

static PyObject *engine_restore(PyObject *object, PyObject *snapshot)
{
    engine *self = (engine *)object;
    Py_buffer view;
    if (PyObject_GetBuffer(snapshot, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (engine_free_to_use(self) < 0) {
        PyBuffer_Release(&view);
        return NULL;
    }
    const uint32_t size = (view.len > (Py_ssize_t)UINT32_MAX) ? UINT32_MAX : (uint32_t)view.len;
    const tcuq_status status = tcuq_restore(&self->monitor, view.buf, size);
    PyBuffer_Release(&view);
    if (status != TCUQ_OK) {
        PyErr_SetString(PyExc_ValueError, tcuq_strerror(status));
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *engine_record(PyObject *object, PyObject *args)
{
    engine *self = (engine *)object;
    unsigned long long device;
    unsigned long firmware;
    unsigned long boot;
    unsigned long sequence;
    unsigned short epoch;
    unsigned char flags;
    uint8_t record[TCUQ_RECORD_BYTES];
    if (!PyArg_ParseTuple(args, "KkkkHb:record", &device, &firmware, &boot, &sequence, &epoch,
                          &flags) ||
        (engine_free_to_use(self) < 0)) {
        return NULL;
    }
    const tcuq_identity identity = {
        device, (uint32_t)firmware, (uint32_t)boot, (uint32_t)sequence, epoch, flags,
    };
    (void)tcuq_record(&self->monitor, &identity, record, sizeof record);
    return PyBytes_FromStringAndSize((const char *)record, sizeof record);
}

static PyObject *engine_telemetry(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const tcuq_telemetry t = *self->monitor.telemetry;
    long bins[TCUQ_HISTOGRAM_BINS];
    for (size_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        bins[i] = t.histogram[i];
    }
    PyObject *histogram = tuple_of(bins, (Py_ssize_t)TCUQ_HISTOGRAM_BINS);
    if (histogram == NULL) {
        return NULL;
    }
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:I,s:N}", "steps", (unsigned)t.steps, "abstained",
                         (unsigned)t.abstained, "denied", (unsigned)t.denied, "exceeded",
                         (unsigned)t.exceeded, "alarms", (unsigned)t.alarms, "histogram_shift",
                         (unsigned)t.histogram_shift, "histogram", histogram);
}

static PyObject *engine_storage_bytes(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(((engine *)object)->storage);
}

/* The one way to a fast call's slot without a warning about the function's type. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef engine_methods[] = {
    {"step", FAST(engine_step), METH_FASTCALL,
     "step($self, posterior, features, /)\n--\n\n"
     "One step: (label, risk, threshold_q16, exceeded, outcome, alarm)."},
    {"run", FAST(engine_run), METH_FASTCALL,
     "run($self, posteriors, features, label, risk, threshold_q16, exceeded, outcome, alarm, /)\n"
     "--\n\nMany steps, without the GIL, into the six last arguments."},
    {"signals", FAST(engine_signals), METH_FASTCALL,
     "signals($self, posterior, features, /)\n--\n\n"
     "The signals of a step, which then is the past's newest: (label, confidence_q16,\n"
     "divergence_q15, instability_q15, inconsistency_q15, doubt_q15, low_confidence_q10,\n"
     "novelty_q10, whole_past)."},
    {"reset", engine_reset, METH_NOARGS,
     "reset($self, /)\n--\n\nBack to the calibrated state."},
    {"reset_history", engine_reset_history, METH_NOARGS,
     "reset_history($self, /)\n--\n\nForgets the past, keeps threshold, budget and evidence."},
    {"epoch_evidence", engine_epoch_evidence, METH_NOARGS,
     "epoch_evidence($self, /)\n--\n\nlog2 of the epoch's e-value so far, in 1/256 bit."},
    {"end_epoch", engine_end_epoch, METH_NOARGS,
     "end_epoch($self, /)\n--\n\nlog2 of the epoch's e-value in 1/256 bit; starts the next epoch."},
    {"snapshot", engine_snapshot, METH_NOARGS,
     "snapshot($self, /)\n--\n\nThe state, to survive a restart."},
    {"restore", engine_restore, METH_O,
     "restore($self, snapshot, /)\n--\n\nContinues from a snapshot; ValueError if it is no good."},
    {"record", engine_record, METH_VARARGS,
     "record($self, device, firmware, boot, sequence, epoch, flags, /)\n--\n\n"
     "The telemetry record."},
    {"telemetry", engine_telemetry, METH_NOARGS,
     "telemetry($self, /)\n--\n\nThe counters since the last reset."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef engine_properties[] = {
    {"storage_bytes", engine_storage_bytes, NULL, "Bytes of state a device keeps.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot engine_slots[] = {
    {Py_tp_doc, "Engine(spec)\n--\n\nThe C runtime, running the profile a spec describes."},
    {Py_tp_new, engine_new},
    {Py_tp_dealloc, engine_dealloc},
    {Py_tp_methods, engine_methods},
    {Py_tp_getset, engine_properties},
    {0, NULL},
};

static PyType_Spec engine_spec = {
    .name = "tcuq.runtime._engine.Engine",
    .basicsize = (int)sizeof(engine),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = engine_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &engine_spec, NULL);
    if (type == NULL) {
        return -1;
    }
    const int added = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return added;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tcuq.runtime._engine",
    .m_doc = "The C runtime of the monitor.",
    .m_size = 0,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__engine(void)
{
    return PyModuleDef_Init(&module);
}
