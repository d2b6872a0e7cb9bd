/* SPDX-License-Identifier: Apache-2.0 */
/* Decision: what the runtime says of one step, as tcuq.decision's dataclass. */
#include "engine.h"

/* Keeps the type, the enums' members and how the type's slots are set. */
int decisions_read(engine *self, PyObject *type, PyObject *outcomes, PyObject *alarms)
{
    static const char *const names[DECISION_MEMBERS] = {
        "label", "risk", "threshold", "exceeded", "outcome", "alarm",
    };
    PyObject *held = PyTuple_New(3 + DECISION_MEMBERS);
    if (held == NULL) {
        return -1;
    }
    self->decisions = held;
    self->allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    (void)PyTuple_SetItem(held, 0, Py_NewRef(type));
    (void)PyTuple_SetItem(held, 1, Py_NewRef(outcomes));
    (void)PyTuple_SetItem(held, 2, Py_NewRef(alarms));
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyObject_GetAttrString(type, names[i]);
        if (member == NULL) {
            return -1;
        }
        (void)PyTuple_SetItem(held, 3 + i, member);
        self->set[i] = (descrsetfunc)PyType_GetSlot(Py_TYPE(member), Py_tp_descr_set);
        if (self->set[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "decision.%s: not a slot", names[i]);
            return -1;
        }
    }
    return 0;
}

/* A Decision, its members set without the __init__ that a frozen dataclass makes slow. */
PyObject *decision_of(const engine *self, const tcuq_decision *d)
{
    PyObject *decisions = self->decisions;
    PyObject *made = self->allocate((PyTypeObject *)PyTuple_GetItem(decisions, 0), 0);
    PyObject *outcome = PyTuple_GetItem(PyTuple_GetItem(decisions, 1), d->outcome);
    PyObject *alarm = PyTuple_GetItem(PyTuple_GetItem(decisions, 2), d->alarm);
    PyObject *values[DECISION_MEMBERS] = {
        PyLong_FromLong(d->label),
        PyFloat_FromDouble(d->risk / LEVELS),
        PyFloat_FromDouble(d->threshold_q16 / LEVELS_Q16),
        PyBool_FromLong(d->exceeded),
        Py_XNewRef(outcome),
        Py_XNewRef(alarm),
    };
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyTuple_GetItem(decisions, 3 + i);
        if ((made != NULL) && ((values[i] == NULL) || (self->set[i](member, made, values[i]) < 0))) {
            Py_CLEAR(made);
        }
        Py_XDECREF(values[i]);
    }
    return made;
}
