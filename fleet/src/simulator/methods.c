/* SPDX-License-Identifier: Apache-2.0 */
/* The Simulator's methods: advance the clock, acknowledge records, and return the truth. */
#include "module.h"

/* Lock the simulator for this thread; -1 with an error set if another thread holds it. */
static int try_acquire(simulator *self)
{
    if (PyThread_acquire_lock(self->in_use, NOWAIT_LOCK) == 0) {
        PyErr_SetString(PyExc_RuntimeError, "this simulator is in use by another thread");
        return -1;
    }
    return 0;
}

/* Run every device once, or until the outbox is full. */
static void advance(simulation *sim, uint32_t now_s, uint32_t capacity)
{
    for (uint32_t left = sim->count; (left > 0u) && (sim->outbox.count < capacity); left--) {
        if (sim->due_s[sim->cursor] <= now_s) {
            run_device(sim, sim->cursor, now_s);
        }
        sim->cursor = (sim->cursor + 1u == sim->count) ? 0u : sim->cursor + 1u;
    }
}

PyObject *simulator_advance(PyObject *object, PyObject *args)
{
    static const array_spec specs[2] = {
        {"devices", 4, PyBUF_WRITABLE}, {"records", TCUQ_RECORD_BYTES, PyBUF_WRITABLE}};
    simulator *self = (simulator *)object;
    Py_buffer views[MAX_ARRAYS];
    PyObject *arrays[2];
    unsigned int now_s;
    if (!PyArg_ParseTuple(args, "IOO:advance", &now_s, &arrays[0], &arrays[1])) {
        return NULL;
    }
    const Py_ssize_t capacity = get_arrays(arrays, specs, 2, views);
    if (capacity < 0) {
        return NULL;
    }
    if (try_acquire(self) < 0) {
        release_arrays(views, 2);
        return NULL;
    }
    const outbox out = {.devices = views[0].buf, .records = views[1].buf};
    self->sim.outbox = out;
    Py_BEGIN_ALLOW_THREADS
    advance(&self->sim, now_s, (uint32_t)capacity);
    Py_END_ALLOW_THREADS
    const uint32_t sent = self->sim.outbox.count;
    PyThread_release_lock(self->in_use);
    release_arrays(views, 2);
    return PyLong_FromUnsignedLong(sent);
}

PyObject *simulator_acknowledge(PyObject *object, PyObject *args)
{
    static const array_spec specs[1] = {{"acks", TCUQ_ACK_BYTES, 0}};
    simulator *self = (simulator *)object;
    Py_buffer views[MAX_ARRAYS];
    PyObject *arrays[1];
    unsigned int now_s;
    uint32_t unmatched = 0u;
    if (!PyArg_ParseTuple(args, "IO:acknowledge", &now_s, &arrays[0])) {
        return NULL;
    }
    const Py_ssize_t count = get_arrays(arrays, specs, 1, views);
    if (count < 0) {
        return NULL;
    }
    if (try_acquire(self) < 0) {
        release_arrays(views, 1);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        const uint8_t *ack = &((const uint8_t *)views[0].buf)[(size_t)i * TCUQ_ACK_BYTES];
        uint64_t id = 0u;
        for (int byte = 7; byte >= 0; byte--) {
            id = (id << 8) | ack[byte];
        }
        const uint32_t index = find_device(&self->sim, id);
        if ((index == NEVER) || (acknowledge_device(&self->sim, index, ack, now_s) != TCUQ_OK)) {
            unmatched++;
        }
    }
    PyThread_release_lock(self->in_use);
    release_arrays(views, 1);
    return PyLong_FromUnsignedLong(unmatched);
}

PyObject *simulator_truth(PyObject *object, PyObject *args)
{
    static const array_spec specs[5] = {
        {"counters", 8 * COUNTERS, PyBUF_WRITABLE}, {"boot", 4, PyBUF_WRITABLE},
        {"sequence", 4, PyBUF_WRITABLE}, {"refused", 4, PyBUF_WRITABLE}, {"waiting", 1, PyBUF_WRITABLE},
    };
    simulator *self = (simulator *)object;
    const simulation *sim = &self->sim;
    Py_buffer views[MAX_ARRAYS];
    PyObject *arrays[5];
    if (!PyArg_ParseTuple(args, "OOOOO:truth", &arrays[0], &arrays[1], &arrays[2], &arrays[3], &arrays[4])) {
        return NULL;
    }
    const Py_ssize_t count = get_arrays(arrays, specs, 5, views);
    if (count < 0) {
        return NULL;
    }
    int status = 0;
    if (count != (Py_ssize_t)sim->count) { /* which never changes */
        PyErr_Format(PyExc_ValueError, "arrays of %zd rows for %u devices", count, sim->count);
        status = -1;
    } else {
        status = try_acquire(self);
    }
    for (Py_ssize_t i = 0; (status == 0) && (i < count); i++) {
        const device *dev = &sim->devices[i];
        for (Py_ssize_t j = 0; j < (Py_ssize_t)COUNTERS; j++) {
            ((uint64_t *)views[0].buf)[i * (Py_ssize_t)COUNTERS + j] = dev->past_boots[j] + dev->current_boot[j];
        }
        ((uint32_t *)views[1].buf)[i] = dev->last_boot;
        ((uint32_t *)views[2].buf)[i] = dev->last_sequence;
        ((uint32_t *)views[3].buf)[i] = dev->refused;
        ((uint8_t *)views[4].buf)[i] = dev->uplink.count;
    }
    if (status == 0) {
        PyThread_release_lock(self->in_use);
    }
    release_arrays(views, 5);
    return (status == 0) ? Py_NewRef(Py_None) : NULL;
}
