/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the spec, a dict from tcuq.profile.quantize, into the runtime's structs. */
#include <string.h>

#include "engine.h"
#include "layout.h"

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
    const extent some = {1u, 1u, TCUQ_MAX_LAGS, true};
    size_t lags = 0u;
    size_t count;
    const void *copy = read_array(self, at, "lags", some, &lags);
    if (copy == NULL) {
        return -1;
    }
    memcpy(profile->lags, copy, lags);
    profile->lag_count = (uint8_t)lags;
    array_rule rules[PROFILE_ARRAYS];
    profile_arrays(profile, rules);
    for (size_t i = 0u; i < PROFILE_ARRAYS; i++) {
        copy = read_array(self, at, rules[i].name, rules[i].items, &count);
        memcpy((char *)profile + rules[i].offset, &copy, sizeof copy);
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
