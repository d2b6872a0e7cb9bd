/* SPDX-License-Identifier: Apache-2.0 */
/* The state between steps: resets, epochs, snapshots, counters and the telemetry record. */
#include "engine.h"

/* Calls a function of the runtime that changes the state. */
static PyObject *change(PyObject *object, void (*by)(tcuq_monitor *monitor))
{
    engine *self = (engine *)object;
    if (!engine_take(self)) {
        return NULL;
    }
    by(&self->monitor);
    engine_release(self);
    Py_RETURN_NONE;
}

PyObject *engine_reset(PyObject *object, PyObject *unused)
{
    (void)unused;
    return change(object, tcuq_reset);
}

PyObject *engine_acknowledge(PyObject *object, PyObject *unused)
{
    (void)unused;
    return change(object, tcuq_alarm_acknowledge);
}

PyObject *engine_reset_history(PyObject *object, PyObject *unused)
{
    (void)unused;
    return change(object, tcuq_reset_history);
}

PyObject *engine_epoch(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (!engine_take(self)) {
        return NULL;
    }
    const int number = (int)self->monitor.core->epoch;
    const int evidence = (int)tcuq_epoch_evidence(&self->monitor);
    const int closed = (int)self->monitor.core->last_epoch_evidence;
    engine_release(self);
    return Py_BuildValue("iii", number, evidence, closed);
}

PyObject *engine_snapshot(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    const uint32_t size = tcuq_snapshot_size(&self->monitor); /* of the profile: it never changes */
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if ((bytes == NULL) || !engine_take(self)) {
        Py_XDECREF(bytes);
        return NULL;
    }
    (void)tcuq_snapshot(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), size);
    engine_release(self);
    return bytes;
}

PyObject *engine_restore(PyObject *object, PyObject *snapshot)
{
    engine *self = (engine *)object;
    Py_buffer view;
    if (PyObject_GetBuffer(snapshot, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (!engine_take(self)) {
        PyBuffer_Release(&view);
        return NULL;
    }
    const uint32_t size = (view.len > (Py_ssize_t)UINT32_MAX) ? UINT32_MAX : (uint32_t)view.len;
    const tcuq_status status = tcuq_restore(&self->monitor, view.buf, size);
    engine_release(self);
    PyBuffer_Release(&view);
    if (status != TCUQ_OK) {
        PyErr_SetString(PyExc_ValueError, tcuq_strerror(status));
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *engine_telemetry(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (!engine_take(self)) {
        return NULL;
    }
    const tcuq_telemetry t = *self->monitor.telemetry;
    engine_release(self);
    long bins[TCUQ_HISTOGRAM_BINS];
    for (size_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        bins[i] = t.histogram[i];
    }
    PyObject *histogram = tuple_of(bins, (Py_ssize_t)TCUQ_HISTOGRAM_BINS);
    if (histogram == NULL) {
        return NULL;
    }
    return Py_BuildValue("{s:I,s:I,s:I,s:I,s:I,s:I,s:N}", "steps", (unsigned)t.steps, "abstained",
                         (unsigned)t.abstained, "denied", (unsigned)t.denied, "exceeded",
                         (unsigned)t.exceeded, "alarms", (unsigned)t.alarms, "histogram_shift",
                         (unsigned)t.histogram_shift, "histogram", histogram);
}

PyObject *engine_record(PyObject *object, PyObject *args)
{
    engine *self = (engine *)object;
    unsigned long long device;
    unsigned long firmware;
    unsigned long boot;
    unsigned long sequence;
    uint8_t record[TCUQ_RECORD_BYTES];
    if (!PyArg_ParseTuple(args, "Kkkk:record", &device, &firmware, &boot, &sequence) ||
        !engine_take(self)) {
        return NULL;
    }
    const tcuq_identity identity = {
        device, (uint32_t)firmware, (uint32_t)boot, (uint32_t)sequence,
    };
    (void)tcuq_record(&self->monitor, &identity, record, sizeof record);
    engine_release(self);
    return PyBytes_FromStringAndSize((const char *)record, sizeof record);
}
