/* SPDX-License-Identifier: Apache-2.0 */
/* Steps in, decisions out: one by one, or many in a loop without the GIL.
 *
 * Python code runs only while arguments are read and results are made, never while the engine is taken. */
#include <string.h>

#include "engine.h"

/* ---- one step ---- */

/* Reads and quantises one step and takes the engine: 1; 0 if it needs a conversion first; -1 with an error. */
static int step_take(engine *self, PyObject *const *args, Py_ssize_t count, inputs *in,
                     device_rows *at)
{
    if (count != INPUTS) {
        PyErr_Format(PyExc_TypeError, "expected posterior, features and health, got %zd arguments", count);
        return -1;
    }
    if (!inputs_take(self, args, 1, in)) {
        return 0;
    }
    if (!engine_take(self)) {
        inputs_release(in);
        return -1;
    }
    if (!inputs_quantized(self, in, 0, 1, at)) {
        engine_release(self);
        inputs_release(in);
        return 0;
    }
    return 1;
}

PyObject *engine_step(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    device_rows at;
    tcuq_decision d;
    inputs in;
    const int status = step_take(self, args, count, &in, &at);
    if (status != 1) {
        return (status < 0) ? NULL : Py_NewRef(Py_None);
    }
    tcuq_step(&self->monitor, at.posterior, at.features, at.health, &d);
    const bool promise = columns_promised(&self->monitor, &d, self->quantizer.promise != 0u);
    engine_release(self);
    inputs_release(&in);
    return decision_of(self, &d, promise);
}

PyObject *engine_signals(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    device_rows at;
    tcuq_signals s;
    inputs in;
    const int status = step_take(self, args, count, &in, &at);
    if (status != 1) {
        return (status < 0) ? NULL : Py_NewRef(Py_None);
    }
    tcuq_signals_run(&self->monitor, at.posterior, at.features, at.health, &s);
    engine_release(self);
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
        s.contradiction_q10,
        s.whole_past ? 1 : 0,
        s.health_q10,
        s.health_given ? 1 : 0,
    };
    return tuple_of(values, 12);
}

/* ---- many steps ---- */

/* The outputs of a run, with their bytes per step. */
static const struct {
    const char *name;
    Py_ssize_t size;
} outputs[COLUMN_COUNT] = {
#define COLUMN_SIZE(name, type) {#name, sizeof(type)},
    COLUMNS(COLUMN_SIZE)
#undef COLUMN_SIZE
};

static void decide(engine *self, device_rows at, Py_ssize_t begin, Py_ssize_t count,
                   void *const *out)
{
    columns to;
    memcpy(&to, out, sizeof to);
    for (Py_ssize_t i = begin; i < begin + count; i++) {
        columns_step(&self->monitor, at.posterior, at.features, at.health, self->quantizer.promise != 0u,
                     &to, (size_t)i);
        rows_advance(&self->profile, 1u, &at);
    }
}

static void copy(engine *self, device_rows at, Py_ssize_t begin, Py_ssize_t count,
                 void *const *out)
{
    const Py_ssize_t classes = self->profile.classes;
    const Py_ssize_t width = self->profile.width;
    memcpy((char *)out[0] + begin * classes, at.posterior, (size_t)(count * classes));
    if (at.features != NULL) {
        memcpy((char *)out[1] + begin * width, at.features, (size_t)(count * width));
    }
}

/* Releases the engine, which its caller has taken. */
Py_ssize_t consume(engine *self, const inputs *in, consumer each, void *const *out)
{
    Py_ssize_t begin = 0;
    Py_BEGIN_ALLOW_THREADS
    while (begin < in->steps) {
        const Py_ssize_t left = in->steps - begin;
        const Py_ssize_t count = (left < self->block) ? left : self->block;
        device_rows at;
        if (!inputs_quantized(self, in, begin, count, &at)) {
            break;
        }
        each(self, at, begin, count, out);
        begin += count;
    }
    Py_END_ALLOW_THREADS
    engine_release(self);
    return begin;
}

static PyObject *run_into(engine *self, PyObject *const *args, const inputs *in)
{
    Py_buffer views[COLUMN_COUNT];
    void *out[COLUMN_COUNT];
    PyObject *done = NULL;
    int filled = 0;
    while (filled < COLUMN_COUNT) {
        const Py_ssize_t size = outputs[filled].size;
        Py_buffer *view = &views[filled];
        if (view_of(args[filled], "", outputs[filled].name, PyBUF_WRITABLE, view) < 0) {
            break;
        }
        out[filled] = view->buf;
        filled++;
        if ((view->len != in->steps * size) || ((uintptr_t)view->buf % (size_t)size != 0u)) {
            PyErr_Format(PyExc_ValueError, "%s: %zd bytes, not %zd x %zd, aligned",
                         outputs[filled - 1].name, view->len, in->steps, size);
            break;
        }
    }
    if (!PyErr_Occurred() && engine_take(self)) {
        done = PyLong_FromSsize_t(consume(self, in, decide, out));
    }
    while (filled > 0) {
        filled--;
        PyBuffer_Release(&views[filled]);
    }
    return done;
}

int inputs_needed(const engine *self, PyObject *const *args, inputs *in)
{
    if (inputs_take(self, args, 2, in)) {
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "posteriors, features, health: not arrays that takes() takes");
    return -1;
}

bool wrong_count(Py_ssize_t count, int expected)
{
    if (count != expected) {
        PyErr_Format(PyExc_TypeError, "expected %d arguments, got %zd", expected, count);
    }
    return count != expected;
}

PyObject *engine_takes(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    inputs in;
    if (wrong_count(count, INPUTS)) {
        return NULL;
    }
    if (!inputs_take((engine *)object, args, 2, &in)) {
        Py_RETURN_FALSE;
    }
    inputs_release(&in);
    Py_RETURN_TRUE;
}

PyObject *engine_run(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    inputs in;
    if (wrong_count(count, INPUTS + COLUMN_COUNT) || (inputs_needed(self, args, &in) < 0)) {
        return NULL;
    }
    PyObject *done = run_into(self, &args[INPUTS], &in);
    inputs_release(&in);
    return done;
}

PyObject *engine_quantize(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    inputs in;
    if (wrong_count(count, 2)) {
        return NULL;
    }
    PyObject *const numbers[INPUTS] = {args[0], args[1], Py_None};
    if (inputs_needed(self, numbers, &in) < 0) {
        return NULL;
    }
    PyObject *posteriors = PyBytes_FromStringAndSize(NULL, in.steps * self->profile.classes);
    PyObject *features = PyBytes_FromStringAndSize(NULL, in.steps * self->profile.width);
    PyObject *both = NULL;
    if ((posteriors != NULL) && (features != NULL) && engine_take(self)) {
        void *const out[] = {PyBytes_AsString(posteriors), PyBytes_AsString(features)};
        both = (consume(self, &in, copy, out) == in.steps) ? PyTuple_Pack(2, posteriors, features)
                                                           : Py_NewRef(Py_None);
    }
    Py_XDECREF(posteriors);
    Py_XDECREF(features);
    inputs_release(&in);
    return both;
}
