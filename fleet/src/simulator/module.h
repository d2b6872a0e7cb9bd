/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's module: declarations that its files share. */
#ifndef MODULE_H
#define MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "simulator.h"

typedef struct {
    PyObject ob_base;
    simulation sim;
    PyThread_type_lock in_use; /* held by the thread that runs a method */
} simulator;

#define MAX_ARRAYS 5

typedef struct {
    const char *name;
    Py_ssize_t row_bytes;
    int flags;
} array_spec;

/* arrays.c: get views of arrays with equally many rows; returns the rows, or -1 with an error set and no view held. */
Py_ssize_t get_arrays(PyObject *const *arrays, const array_spec *specs, int count, Py_buffer *views);
void release_arrays(Py_buffer *views, int count);

/* methods.c */
PyObject *simulator_advance(PyObject *object, PyObject *args);
PyObject *simulator_acknowledge(PyObject *object, PyObject *args);
PyObject *simulator_truth(PyObject *object, PyObject *args);

/* epochs.c */
PyObject *epoch_evidence(PyObject *module, PyObject *args);

#endif
