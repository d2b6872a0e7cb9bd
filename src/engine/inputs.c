/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: arrays of one step or many, without conversion, and their bytes for the device. */
#include "engine.h"

/* A row (dimensions 1) or rows (2) of `width` bytes, floats or doubles, without gaps. False for others,
 * without an error: Python converts it, or raises the error. */
static bool take(PyObject *value, int dimensions, Py_ssize_t width, char byte, Py_buffer *view, item *as)
{
    if (PyObject_GetBuffer(value, view, PyBUF_ND | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return false;
    }
    const char *format = (view->format == NULL) ? "B" : view->format;
    const bool known = (format[0] == byte) || (format[0] == 'f') || (format[0] == 'd');
    *as = (format[0] == byte) ? ITEM_BYTE : (format[0] == 'f') ? ITEM_FLOAT : ITEM_DOUBLE;
    if (known && (format[1] == '\0') && (view->ndim == dimensions) &&
        (view->shape[dimensions - 1] == width) &&
        ((uintptr_t)view->buf % (size_t)view->itemsize == 0u)) {
        return true;
    }
    PyBuffer_Release(view);
    return false;
}

/* Posteriors and features; both quantised or neither. */
bool inputs_take(const engine *self, PyObject *const *args, int dimensions, inputs *in)
{
    const tcuq_profile *profile = &self->profile;
    if ((profile->width == 0u) != (args[1] == Py_None) ||
        !take(args[0], dimensions, profile->classes, 'B', &in->posteriors, &in->posterior)) {
        return false;
    }
    in->steps = (dimensions == 1) ? 1 : in->posteriors.shape[0];
    in->features.buf = NULL;
    in->features.obj = NULL;
    in->feature = in->posterior;
    if (profile->width == 0u) {
        return true;
    }
    if (take(args[1], dimensions, profile->width, 'b', &in->features, &in->feature)) {
        if (((in->posterior == ITEM_BYTE) == (in->feature == ITEM_BYTE)) &&
            ((dimensions == 1) || (in->features.shape[0] == in->steps))) {
            return true;
        }
        PyBuffer_Release(&in->features);
    }
    PyBuffer_Release(&in->posteriors);
    return false;
}

void inputs_release(inputs *in)
{
    PyBuffer_Release(&in->posteriors);
    PyBuffer_Release(&in->features);
}

bool inputs_quantized(const engine *self, const inputs *in, Py_ssize_t begin, Py_ssize_t count,
                      const uint8_t **posteriors, const int8_t **features)
{
    const Py_ssize_t classes = self->profile.classes;
    const Py_ssize_t width = self->profile.width;
    const size_t rows = (size_t)count;
    const char *rows_at = (const char *)in->posteriors.buf + begin * classes * in->posteriors.itemsize;
    const char *wide_at = NULL;
    int8_t *narrow = NULL;
    if (width != 0) {
        wide_at = (const char *)in->features.buf + begin * width * in->features.itemsize;
        narrow = (int8_t *)&self->scratch[count * classes];
    }
    if (in->posterior == ITEM_BYTE) {
        *posteriors = (const uint8_t *)rows_at;
        *features = (const int8_t *)wide_at;
        return true;
    }
    *posteriors = self->scratch;
    *features = narrow;
    return quantize_posteriors(&self->quantizer, rows_at, in->posterior, (size_t)classes, rows,
                               self->scratch) &&
           quantize_features(&self->quantizer, wide_at, in->feature, rows * (size_t)width, narrow);
}
