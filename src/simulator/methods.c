/* SPDX-License-Identifier: Apache-2.0 */
/* Time passes, acknowledgements come, and in the end the truth is told. */
#include "module.h"

static int free_to_use(const simulator *self)
{
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "this simulator is in use by another thread");
        return -1;
    }
    return 0;
}

/* All devices once around, or until there is no room for another record. */
static void advance(fleet *all, uint32_t now_s, uint32_t room)
{
    for (uint32_t left = all->count; (left > 0u) && (all->out.count < room); left--) {
        if (all->due_s[all->cursor] <= now_s) {
            device_runs(all, all->cursor, now_s);
        }
        all->cursor = (all->cursor + 1u == all->count) ? 0u : all->cursor + 1u;
    }
}

PyObject *simulator_advance(PyObject *object, PyObject *args)
{
    static const array of[2] = {
        {"devices", 4, PyBUF_WRITABLE}, {"records", TCUQ_RECORD_BYTES, PyBUF_WRITABLE}};
    simulator *self = (simulator *)object;
    Py_buffer views[MOST_ARRAYS];
    PyObject *from[2];
    unsigned int now_s;
    if (!PyArg_ParseTuple(args, "IOO:advance", &now_s, &from[0], &from[1])) {
        return NULL;
    }
    const Py_ssize_t room = arrays_taken(from, of, 2, views);
    if (room < 0) {
        return NULL;
    }
    if (free_to_use(self) < 0) {
        arrays_released(views, 2);
        return NULL;
    }
    const outgoing out = {.devices = views[0].buf, .records = views[1].buf};
    self->all.out = out;
    self->busy = 1;
    Py_BEGIN_ALLOW_THREADS
    advance(&self->all, now_s, (uint32_t)room);
    Py_END_ALLOW_THREADS
    self->busy = 0;
    arrays_released(views, 2);
    return PyLong_FromUnsignedLong(self->all.out.count);
}

PyObject *simulator_stored(PyObject *object, PyObject *args)
{
    static const array of[1] = {{"acks", TCUQ_ACK_BYTES, 0}};
    simulator *self = (simulator *)object;
    Py_buffer views[MOST_ARRAYS];
    PyObject *from[1];
    unsigned int now_s;
    uint32_t strange = 0u;
    if (!PyArg_ParseTuple(args, "IO:stored", &now_s, &from[0])) {
        return NULL;
    }
    const Py_ssize_t count = arrays_taken(from, of, 1, views);
    if (count < 0) {
        return NULL;
    }
    if (free_to_use(self) < 0) {
        arrays_released(views, 1);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const uint8_t *ack = &((const uint8_t *)views[0].buf)[(size_t)i * TCUQ_ACK_BYTES];
        uint64_t id = 0u;
        for (int byte = 7; byte >= 0; byte--) {
            id = (id << 8) | ack[byte];
        }
        const uint32_t device = device_of(&self->all, id);
        if ((device == NEVER) || (device_stored(&self->all, device, ack, now_s) != TCUQ_UPLINK_OK)) {
            strange++;
        }
    }
    arrays_released(views, 1);
    return PyLong_FromUnsignedLong(strange);
}

PyObject *simulator_truth(PyObject *object, PyObject *args)
{
    static const array of[5] = {
        {"counters", 8 * COUNTERS, PyBUF_WRITABLE}, {"boot", 4, PyBUF_WRITABLE},
        {"sequence", 4, PyBUF_WRITABLE}, {"refused", 4, PyBUF_WRITABLE}, {"waiting", 1, PyBUF_WRITABLE},
    };
    simulator *self = (simulator *)object;
    const fleet *all = &self->all;
    Py_buffer views[MOST_ARRAYS];
    PyObject *from[5];
    if (!PyArg_ParseTuple(args, "OOOOO:truth", &from[0], &from[1], &from[2], &from[3], &from[4])) {
        return NULL;
    }
    const Py_ssize_t count = arrays_taken(from, of, 5, views);
    if (count < 0) {
        return NULL;
    }
    int told = free_to_use(self);
    if ((told == 0) && (count != (Py_ssize_t)all->count)) {
        PyErr_Format(PyExc_ValueError, "arrays of %zd rows for %u devices", count, all->count);
        told = -1;
    }
    for (Py_ssize_t i = 0; (told == 0) && (i < count); i++) {
        const simulated *one = &all->devices[i];
        for (Py_ssize_t j = 0; j < (Py_ssize_t)COUNTERS; j++) {
            ((uint64_t *)views[0].buf)[i * (Py_ssize_t)COUNTERS + j] = one->ended[j] + one->newest[j];
        }
        ((uint32_t *)views[1].buf)[i] = one->last_boot;
        ((uint32_t *)views[2].buf)[i] = one->last_sequence;
        ((uint32_t *)views[3].buf)[i] = one->refused;
        ((uint8_t *)views[4].buf)[i] = one->uplink.count;
    }
    arrays_released(views, 5);
    return (told == 0) ? Py_NewRef(Py_None) : NULL;
}
