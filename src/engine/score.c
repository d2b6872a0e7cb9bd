/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of many steps, and the risk of signals in that form, for the fit. */
#include "engine.h"

/* Eleven numbers per step: signals in the order of the profile's tables, confidence, whole past, health and
 * whether it was given. */
static void observe(engine *self, device_rows at, Py_ssize_t begin, Py_ssize_t count,
                    void *const *out)
{
    int32_t *to = (int32_t *)out[0] + begin * OBSERVED;
    for (Py_ssize_t i = 0; i < count; i++) {
        tcuq_signals s;
        tcuq_signals_run(&self->monitor, at.posterior, at.features, at.health, &s);
        for (size_t signal = 0u; signal < 4u; signal++) {
            to[signal] = s.values_q15[signal];
        }
        to[TCUQ_LOW_CONFIDENCE] = s.low_confidence_q10;
        to[TCUQ_NOVELTY] = s.novelty_q10;
        to[TCUQ_CONTRADICTION] = s.contradiction_q10;
        to[TCUQ_SIGNALS] = (int32_t)s.confidence_q16;
        to[TCUQ_SIGNALS + 1] = s.whole_past ? 1 : 0;
        to[TCUQ_SIGNALS + 2] = s.health_q10;
        to[TCUQ_SIGNALS + 3] = s.health_given ? 1 : 0;
        to += OBSERVED;
        rows_advance(&self->profile, 1u, &at);
    }
}

PyObject *engine_observe(PyObject *object, PyObject *const *args, Py_ssize_t count)
{
    engine *self = (engine *)object;
    inputs in;
    if (wrong_count(count, INPUTS) || (inputs_needed(self, args, &in) < 0)) {
        return NULL;
    }
    const Py_ssize_t bytes = in.steps * OBSERVED * (Py_ssize_t)sizeof(int32_t);
    PyObject *observed = PyByteArray_FromStringAndSize(NULL, bytes);
    if ((observed != NULL) && engine_take(self)) {
        void *const out[] = {PyByteArray_AsString(observed)};
        if (consume(self, &in, observe, out) < in.steps) {
            Py_DECREF(observed);
            observed = Py_NewRef(Py_None);
        }
    } else {
        Py_CLEAR(observed);
    }
    inputs_release(&in);
    return observed;
}

static void score(const engine *self, const int32_t *from, Py_ssize_t steps, uint16_t *risk)
{
    for (Py_ssize_t i = 0; i < steps; i++) {
        tcuq_signals s = {0};
        tcuq_decision d;
        for (size_t signal = 0u; signal < 4u; signal++) {
            s.values_q15[signal] = (uint16_t)from[signal];
        }
        s.low_confidence_q10 = (int16_t)from[TCUQ_LOW_CONFIDENCE];
        s.novelty_q10 = (int16_t)from[TCUQ_NOVELTY];
        s.contradiction_q10 = (int16_t)from[TCUQ_CONTRADICTION];
        s.confidence_q16 = (uint32_t)from[TCUQ_SIGNALS];
        tcuq_score_run(&self->monitor, &s, &d);
        risk[i] = d.risk;
        from += OBSERVED;
    }
}

PyObject *engine_score(PyObject *object, PyObject *observed)
{
    engine *self = (engine *)object;
    Py_buffer view;
    PyObject *risk = NULL;
    const Py_ssize_t row = OBSERVED * (Py_ssize_t)sizeof(int32_t);
    if (view_of(observed, "", "observed", PyBUF_SIMPLE, &view) < 0) {
        return NULL;
    }
    if ((view.len % row != 0) || ((uintptr_t)view.buf % sizeof(int32_t) != 0u)) {
        PyErr_Format(PyExc_ValueError, "observed: %zd bytes, not rows of %zd, aligned", view.len, row);
    } else {
        const Py_ssize_t steps = view.len / row;
        risk = PyByteArray_FromStringAndSize(NULL, steps * (Py_ssize_t)sizeof(uint16_t));
        if ((risk != NULL) && engine_take(self)) {
            score(self, view.buf, steps, (uint16_t *)(void *)PyByteArray_AsString(risk));
            engine_release(self);
        } else {
            Py_CLEAR(risk);
        }
    }
    PyBuffer_Release(&view);
    return risk;
}
