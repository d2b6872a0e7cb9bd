/* SPDX-License-Identifier: Apache-2.0 */
/* Score: the risk of signals in the form that observe returns, for the fit. */
#include "engine.h"

static void score(const engine *self, const int32_t *from, Py_ssize_t steps, uint16_t *risk,
                  int16_t *smoothed)
{
    const uint8_t terms = self->profile.term_count;
    for (Py_ssize_t i = 0; i < steps; i++) {
        tcuq_signals s = {0};
        for (size_t signal = 0u; signal < 4u; signal++) {
            s.values_q15[signal] = (uint16_t)from[signal];
        }
        s.low_confidence_q10 = (int16_t)from[TCUQ_LOW_CONFIDENCE];
        s.novelty_q10 = (int16_t)from[TCUQ_NOVELTY];
        s.confidence_q16 = (uint32_t)from[TCUQ_SIGNALS];
        uint32_t novelty_q10;
        risk[i] = tcuq_score_run(&self->monitor, &s, &novelty_q10);
        for (uint8_t k = 0u; (self->monitor.smoothed_q8 != NULL) && (k < terms); k++) {
            smoothed[k] = (int16_t)tcuq_floor_shift(self->monitor.smoothed_q8[k], 8u);
        }
        from += OBSERVED;
        smoothed += terms;
    }
}

PyObject *engine_score(PyObject *object, PyObject *observed)
{
    engine *self = (engine *)object;
    Py_buffer view;
    PyObject *both = NULL;
    const Py_ssize_t row = OBSERVED * (Py_ssize_t)sizeof(int32_t);
    if (view_of(observed, "", "observed", PyBUF_SIMPLE, &view) < 0) {
        return NULL;
    }
    if ((view.len % row != 0) || ((uintptr_t)view.buf % sizeof(int32_t) != 0u)) {
        PyErr_Format(PyExc_ValueError, "observed: %zd bytes, not rows of %zd, aligned", view.len, row);
    } else {
        const Py_ssize_t steps = view.len / row;
        const Py_ssize_t values = steps * self->profile.term_count;
        PyObject *risk = PyByteArray_FromStringAndSize(NULL, steps * (Py_ssize_t)sizeof(uint16_t));
        PyObject *smoothed = PyByteArray_FromStringAndSize(NULL, values * (Py_ssize_t)sizeof(int16_t));
        if ((risk != NULL) && (smoothed != NULL) && engine_take(self)) {
            score(self, view.buf, steps, (uint16_t *)(void *)PyByteArray_AsString(risk),
                  (int16_t *)(void *)PyByteArray_AsString(smoothed));
            engine_release(self);
            both = PyTuple_Pack(2, risk, smoothed);
        }
        Py_XDECREF(risk);
        Py_XDECREF(smoothed);
    }
    PyBuffer_Release(&view);
    return both;
}
