/* SPDX-License-Identifier: Apache-2.0 */
/* Decision: the runtime's result for one step, as tcuq.decision's dataclass. */
#include "engine.h"

/* What the engine's tuple holds: the type of a Decision, the words of its members, and their slots. */
enum { TYPE, OUTCOMES, REASONS, ALARMS, CAUSE, FIRST_MEMBER };

/* Stores the type, the enums' members and the setters of the type's slots. */
int decisions_read(engine *self, PyObject *type, PyObject *const *words)
{
    static const char *const names[DECISION_MEMBERS] = {
        "label",  "steady_label", "risk",     "expected_error", "novelty", "threshold", "exceeded",
        "reason", "outcome",      "withheld", "alarm",          "amber",   "cause",     "change",
        "promised",
    };
    PyObject *objects = PyTuple_New(FIRST_MEMBER + DECISION_MEMBERS);
    if (objects == NULL) {
        return -1;
    }
    self->decisions = objects;
    self->allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
    (void)PyTuple_SetItem(objects, TYPE, Py_NewRef(type));
    for (int i = OUTCOMES; i <= CAUSE; i++) {
        (void)PyTuple_SetItem(objects, i, Py_NewRef(words[i - OUTCOMES]));
    }
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyObject_GetAttrString(type, names[i]);
        if (member == NULL) {
            return -1;
        }
        (void)PyTuple_SetItem(objects, FIRST_MEMBER + i, member);
        self->set[i] = (descrsetfunc)PyType_GetSlot(Py_TYPE(member), Py_tp_descr_set);
        if (self->set[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "decision.%s: not a slot", names[i]);
            return -1;
        }
    }
    return 0;
}

/* The words for an alarm: rare, so Python finds them. */
static PyObject *cause_of(PyObject *decisions, const tcuq_decision *d)
{
    if (d->alarm == 0u) {
        return PyUnicode_FromString("");
    }
    return PyObject_CallFunction(PyTuple_GetItem(decisions, CAUSE), "ii", (int)d->alarm, (int)d->cause);
}

/* A Decision, its members set without the __init__ that a frozen dataclass makes slow. */
PyObject *decision_of(const engine *self, const tcuq_decision *d, bool promise)
{
    PyObject *decisions = self->decisions;
    PyObject *result = self->allocate((PyTypeObject *)PyTuple_GetItem(decisions, TYPE), 0);
    PyObject *outcome = PyTuple_GetItem(PyTuple_GetItem(decisions, OUTCOMES), d->outcome);
    PyObject *reason = PyTuple_GetItem(PyTuple_GetItem(decisions, REASONS), d->reason);
    PyObject *alarm = PyTuple_GetItem(PyTuple_GetItem(decisions, ALARMS), d->alarm);
    PyObject *values[DECISION_MEMBERS] = {
        PyLong_FromLong(d->label),
        PyLong_FromLong(d->steady_label),
        PyFloat_FromDouble(d->risk / LEVELS),
        PyFloat_FromDouble(d->expected_error / LEVELS),
        PyFloat_FromDouble(d->novelty_q10 / BIT_Q10),
        PyFloat_FromDouble(d->threshold_q16 / LEVELS_Q16),
        PyBool_FromLong(d->exceeded),
        Py_XNewRef(reason),
        Py_XNewRef(outcome),
        PyBool_FromLong(d->withheld),
        Py_XNewRef(alarm),
        PyBool_FromLong(d->amber),
        cause_of(decisions, d),
        PyFloat_FromDouble(d->change / EIGHTHS),
        PyBool_FromLong(promise),
    };
    for (int i = 0; i < DECISION_MEMBERS; i++) {
        PyObject *member = PyTuple_GetItem(decisions, FIRST_MEMBER + i);
        if ((result != NULL) && ((values[i] == NULL) || (self->set[i](member, result, values[i]) < 0))) {
            Py_CLEAR(result);
        }
        Py_XDECREF(values[i]);
    }
    return result;
}
