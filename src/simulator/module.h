/* SPDX-License-Identifier: Apache-2.0 */
/* The Simulator type: what its files share. */
#ifndef MODULE_H
#define MODULE_H

#ifndef Py_LIMITED_API /* CMake says it too */
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "simulator.h"

typedef struct {
    PyObject ob_base;
    fleet all;
    int busy; /* set and read with the GIL held */
} simulator;

/* arrays.c: views of arrays with as many rows; -1 with an error set, and then none is held. */
#define MOST_ARRAYS 5

typedef struct {
    const char *name;
    Py_ssize_t item; /* bytes of a row */
    int flags;
} array;

Py_ssize_t arrays_taken(PyObject *const *from, const array *of, int count, Py_buffer *views);
void arrays_released(Py_buffer *views, int count);

/* methods.c */
PyObject *simulator_advance(PyObject *object, PyObject *args);
PyObject *simulator_stored(PyObject *object, PyObject *args);
PyObject *simulator_truth(PyObject *object, PyObject *args);

#endif
