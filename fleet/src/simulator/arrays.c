/* SPDX-License-Identifier: Apache-2.0 */
/* Views of Python arrays as rows of bytes. */
#include "module.h"

Py_ssize_t get_arrays(PyObject *const *arrays, const array_spec *specs, int count, Py_buffer *views)
{
    Py_ssize_t length = -1;
    for (int i = 0; i < count; i++) {
        if (PyObject_GetBuffer(arrays[i], &views[i], PyBUF_C_CONTIGUOUS | specs[i].flags) == 0) {
            const Py_ssize_t rows = views[i].len / specs[i].row_bytes;
            if ((rows * specs[i].row_bytes == views[i].len) && ((length < 0) || (rows == length)) &&
                (rows < (Py_ssize_t)NEVER)) {
                length = rows;
                continue;
            }
            PyErr_Format(PyExc_ValueError, "%s must have as many rows of %zd bytes as the other arrays, got %zd bytes",
                         specs[i].name, specs[i].row_bytes, views[i].len);
            PyBuffer_Release(&views[i]);
        }
        release_arrays(views, i);
        return -1;
    }
    return length;
}

void release_arrays(Py_buffer *views, int count)
{
    for (int i = 0; i < count; i++) {
        PyBuffer_Release(&views[i]);
    }
}
