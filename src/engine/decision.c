/* SPDX-License-Identifier: Apache-2.0 */
/* Decision: the runtime's result for one step, as tcuq.decision's dataclass. */
#include "engine.h"

/* Stores the type, the enums' members and the setters of the type's slots. */
int decisions_read(engine *self, PyObject *type, PyObject *outcomes, PyObject *alarms, PyObject *cause)
{
    static const char *const names[DECISION_MEMBERS] = {
        "label", "risk", "novelty", "threshold", "exceeded", "outcome", "alarm", "cause", "promised",
    };
    PyObject *objects = PyTuple_New(4 + DECISION_MEMBERS);
    if (objects == NULL) {
        return -1;
    }
    self->decisions = objects;
    self->allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    (void)PyTuple_SetItem(objects, 0, Py_NewRef(type));
    (void)PyTuple_SetItem(objects, 1, Py_NewRef(outcomes));
    (void)PyTuple_SetItem(objects, 2, Py_NewRef(alarms));
    (void)PyTuple_SetItem(objects, 3, Py_NewRef(cause));
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyObject_GetAttrString(type, names[i]);
        if (member == NULL) {
            return -1;
        }
        (void)PyTuple_SetItem(objects, 4 + i, member);
        self->set[i] = (descrsetfunc)PyType_GetSlot(Py_TYPE(member), Py_tp_descr_set);
        if (self->set[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "decision.%s: not a slot", names[i]);
            return -1;
        }
    }
    return 0;
}

/* Whether a step is accepted and the profile's bound on the accepted error stands. */
bool promised(const engine *self, const tcuq_decision *d)
{
    return (self->quantizer.promise != 0u) && (d->outcome == TCUQ_ACCEPT) &&
           !tcuq_alarm_stands(&self->monitor);
}

/* The words for an alarm: rare, so Python finds them. */
static PyObject *cause_of(PyObject *decisions, const tcuq_decision *d)
{
    if (d->alarm == 0u) {
        return PyUnicode_FromString("");
    }
    return PyObject_CallFunction(PyTuple_GetItem(decisions, 3), "ii", (int)d->alarm, (int)d->cause);
}

/* A Decision, its members set without the __init__ that a frozen dataclass makes slow. */
PyObject *decision_of(const engine *self, const tcuq_decision *d, bool promise)
{
    PyObject *decisions = self->decisions;
    PyObject *result = self->allocate((PyTypeObject *)PyTuple_GetItem(decisions, 0), 0);
    PyObject *outcome = PyTuple_GetItem(PyTuple_GetItem(decisions, 1), d->outcome);
    PyObject *alarm = PyTuple_GetItem(PyTuple_GetItem(decisions, 2), d->alarm);
    PyObject *values[DECISION_MEMBERS] = {
        PyLong_FromLong(d->label),
        PyFloat_FromDouble(d->risk / LEVELS),
        PyFloat_FromDouble(d->novelty_q10 / BIT_Q10),
        PyFloat_FromDouble(d->threshold_q16 / LEVELS_Q16),
        PyBool_FromLong(d->exceeded),
        Py_XNewRef(outcome),
        Py_XNewRef(alarm),
        cause_of(decisions, d),
        PyBool_FromLong(promise),
    };
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyTuple_GetItem(decisions, 4 + i);
        if ((result != NULL) && ((values[i] == NULL) || (self->set[i](member, result, values[i]) < 0))) {
            Py_CLEAR(result);
        }
        Py_XDECREF(values[i]);
    }
    return result;
}
