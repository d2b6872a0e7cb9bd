/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs: arrays of one step or many, without conversion, and their bytes for the device. */
#include <string.h>

#include "engine.h"

/* A row (dimensions 1) or rows (2) of `width` numbers of one of these formats, without gaps. False for
 * others, without an error: Python converts it, or raises the error. */
static bool take(PyObject *value, int dimensions, Py_ssize_t width, const char *formats,
                 Py_buffer *view, item *as)
{
    if (PyObject_GetBuffer(value, view, PyBUF_ND | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return false;
    }
    const char *format = (view->format == NULL) ? "B" : view->format;
    const char *known = (format[0] == '\0') ? NULL : strchr(formats, format[0]);
    if ((known != NULL) && (format[1] == '\0') && (view->ndim == dimensions) &&
        (view->shape[dimensions - 1] == width) &&
        ((uintptr_t)view->buf % (size_t)view->itemsize == 0u)) {
        *as = (item)(known - formats);
        return true;
    }
    PyBuffer_Release(view);
    return false;
}

static bool as_many(const inputs *in, int dimensions, const Py_buffer *view)
{
    return (dimensions == 1) || (view->shape[0] == in->steps);
}

/* Features, quantised if posteriors are and only then. */
static bool take_features(const tcuq_profile *profile, PyObject *value, int dimensions, inputs *in)
{
    in->feature = in->posterior;
    if ((profile->width == 0u) || (value == Py_None)) {
        return (profile->width == 0u) && (value == Py_None);
    }
    return take(value, dimensions, profile->width, "bfd", &in->features, &in->feature) &&
           ((in->posterior == ITEM_BYTE) == (in->feature == ITEM_BYTE)) &&
           as_many(in, dimensions, &in->features);
}

/* Health, which a step may lack and a profile may not read. */
static bool take_health(const tcuq_profile *profile, PyObject *value, int dimensions, inputs *in)
{
    item as;
    return (profile->health_count == 0u) || (value == Py_None) ||
           (take(value, dimensions, profile->health_count, "h", &in->health, &as) &&
            as_many(in, dimensions, &in->health));
}

bool inputs_take(const engine *self, PyObject *const *args, int dimensions, inputs *in)
{
    const tcuq_profile *profile = &self->profile;
    memset(in, 0, sizeof *in);
    if (!take(args[0], dimensions, profile->classes, "Bfd", &in->posteriors, &in->posterior)) {
        return false;
    }
    in->steps = (dimensions == 1) ? 1 : in->posteriors.shape[0];
    if (take_features(profile, args[1], dimensions, in) &&
        take_health(profile, args[2], dimensions, in)) {
        return true;
    }
    inputs_release(in);
    return false;
}

void inputs_release(inputs *in)
{
    PyBuffer_Release(&in->posteriors);
    PyBuffer_Release(&in->features);
    PyBuffer_Release(&in->health);
}

bool inputs_quantized(const engine *self, const inputs *in, Py_ssize_t begin, Py_ssize_t count,
                      device_rows *at)
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
    at->health = in->health.buf;
    if (at->health != NULL) {
        at->health += begin * self->profile.health_count;
    }
    if (in->posterior == ITEM_BYTE) {
        at->posterior = (const uint8_t *)rows_at;
        at->features = (const int8_t *)wide_at;
        return true;
    }
    at->posterior = self->scratch;
    at->features = narrow;
    return ((self->quantizer.output_centres == NULL) ? quantize_posteriors : quantize_outputs)(
               &self->quantizer, rows_at, in->posterior, (size_t)classes, rows, self->scratch) &&
           quantize_features(&self->quantizer, wide_at, in->feature, rows * (size_t)width, narrow);
}
