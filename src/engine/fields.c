/* SPDX-License-Identifier: Apache-2.0 */
/* Copies numbers of a dict into members of a struct, by a table of fields. */
#include <string.h>

#include "engine.h"

static const struct {
    size_t size;
    long long least;
    long long most;
} kinds[] = {
    [U8] = {sizeof(uint8_t), 0, UINT8_MAX},
    [U16] = {sizeof(uint16_t), 0, UINT16_MAX},
    [I16] = {sizeof(int16_t), INT16_MIN, INT16_MAX},
    [U32] = {sizeof(uint32_t), 0, UINT32_MAX},
    [I32] = {sizeof(int32_t), INT32_MIN, INT32_MAX},
    [F64] = {sizeof(double), 0, 0},
};

PyObject *field_value(const place *at, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *value = (key == NULL) ? NULL : PyDict_GetItemWithError(at->dict, key);
    Py_XINCREF(value);
    Py_XDECREF(key);
    if ((value == NULL) && !PyErr_Occurred()) {
        (void)wrong_field(at, name, PyExc_ValueError, "missing");
    }
    return value;
}

int wrong_field(const place *at, const char *name, PyObject *error, const char *what)
{
    PyErr_Format(error, "%s%s: %s", at->prefix, name, what);
    return -1;
}

int view_of(PyObject *value, const char *prefix, const char *name, int flags, Py_buffer *view)
{
    if (PyObject_GetBuffer(value, view, flags) == 0) {
        return 0;
    }
    if (!PyObject_CheckBuffer(value)) {
        PyErr_Format(PyExc_TypeError, "%s%s: not bytes-like", prefix, name);
    }
    return -1;
}

static int store_double(const place *at, const char *name, PyObject *value, double *to)
{
    if (!PyFloat_Check(value)) {
        return wrong_field(at, name, PyExc_TypeError, "not a float");
    }
    *to = PyFloat_AsDouble(value);
    return (*to > 0.0) ? 0 : wrong_field(at, name, PyExc_ValueError, "not above 0");
}

static int store_integer(const place *at, const char *name, PyObject *value, kind as, void *to)
{
    int overflow = 0;
    PyObject *index = PyIndex_Check(value) ? PyNumber_Index(value) : NULL;
    if (index == NULL) {
        return PyErr_Occurred() ? -1 : wrong_field(at, name, PyExc_TypeError, "not an integer");
    }
    const long long number = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if ((overflow != 0) || (number < kinds[as].least) || (number > kinds[as].most)) {
        PyErr_Format(PyExc_ValueError, "%s%s: not in %lld..%lld", at->prefix, name, kinds[as].least,
                     kinds[as].most);
        return -1;
    }
    switch (kinds[as].size) { /* a signed member takes the same bits */
    case 1u:
        *(uint8_t *)to = (uint8_t)number;
        break;
    case 2u:
        *(uint16_t *)to = (uint16_t)number;
        break;
    default:
        *(uint32_t *)to = (uint32_t)number;
        break;
    }
    return 0;
}

/* A sequence of exactly as many integers as the field holds. */
static int store_row(const place *at, const field *f, PyObject *row, char *to)
{
    if (!PyList_Check(row) && !PyTuple_Check(row)) {
        return wrong_field(at, f->name, PyExc_TypeError, "neither a list nor a tuple");
    }
    if (PySequence_Size(row) != f->count) {
        PyErr_Format(PyExc_ValueError, "%s%s: not of %zd integers", at->prefix, f->name, f->count);
        return -1;
    }
    int done = 0;
    for (Py_ssize_t i = 0; (done == 0) && (i < f->count); i++) {
        PyObject *value = PySequence_GetItem(row, i);
        done = (value == NULL) ? -1 : store_integer(at, f->name, value, f->kind, to);
        to += kinds[f->kind].size;
        Py_XDECREF(value);
    }
    return done;
}

int read_fields(const place *at, const field *fields, void *into)
{
    int done = 0;
    for (const field *f = fields; (done == 0) && (f->name != NULL); f++) {
        PyObject *value = field_value(at, f->name);
        char *to = (char *)into + f->offset;
        if (value == NULL) {
            done = -1;
        } else if (f->count > 0) {
            done = store_row(at, f, value, to);
        } else if (f->kind == F64) {
            done = store_double(at, f->name, value, (double *)(void *)to);
        } else {
            done = store_integer(at, f->name, value, f->kind, to);
        }
        Py_XDECREF(value);
    }
    return done;
}

PyObject *tuple_of(const long *values, Py_ssize_t count)
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
