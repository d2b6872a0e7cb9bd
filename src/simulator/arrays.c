/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of Python as rows of bytes. */
#include "module.h"

Py_ssize_t arrays_taken(PyObject *const *from, const array *of, int count, Py_buffer *views)
{
    Py_ssize_t length = -1;
    for (int i = 0; i < count; i++) {
        if (PyObject_GetBuffer(from[i], &views[i], PyBUF_C_CONTIGUOUS | of[i].flags) == 0) {
            const Py_ssize_t rows = views[i].len / of[i].item;
            if ((rows * of[i].item == views[i].len) && ((length < 0) || (rows == length)) &&
                (rows < (Py_ssize_t)NEVER)) {
                length = rows;
                continue;
            }
            PyErr_Format(PyExc_ValueError, "%s: %zd bytes, not rows of %zd, as many as others",
                         of[i].name, views[i].len, of[i].item);
            PyBuffer_Release(&views[i]);
        }
        while (i > 0) {
            i--;
            PyBuffer_Release(&views[i]);
        }
        return -1;
    }
    return length;
}

void arrays_released(Py_buffer *views, int count)
{
    for (int i = 0; i < count; i++) {
        PyBuffer_Release(&views[i]);
    }
}
