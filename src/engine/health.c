/* SPDX-License-Identifier: Apache-2.0 */
/* Input health of many windows: the device's own fold and finish, without the GIL. */
#include "engine.h"
#include "tcuq_health.h"

typedef struct {
    tcuq_health_group groups[TCUQ_MAX_HEALTH];
    tcuq_health_channel channels[TCUQ_MAX_HEALTH * TCUQ_HEALTH_MAX_CHANNELS];
    tcuq_health health;
} memory;

/* The groups, each as its channels and whether its spread is wanted; statistics of a window, 0: invalid. */
static Py_ssize_t read_groups(memory *into, const uint8_t *groups, Py_ssize_t bytes)
{
    Py_ssize_t statistics = 0;
    if ((bytes % 2 != 0) || (bytes / 2 > (Py_ssize_t)TCUQ_MAX_HEALTH)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < bytes / 2; i++) {
        into->groups[i].channels = groups[2 * i];
        into->groups[i].spread = groups[2 * i + 1] != 0u;
        statistics += into->groups[i].spread ? 4 : 3;
    }
    into->health.groups = into->groups;
    into->health.channels = into->channels;
    into->health.group_count = (uint8_t)(bytes / 2);
    return (tcuq_health_init(&into->health) == TCUQ_OK) ? statistics : 0;
}

static PyObject *health(PyObject *module, PyObject *args)
{
    Py_buffer from;
    Py_buffer groups;
    Py_buffer to;
    Py_ssize_t frames;
    memory on;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*ny*w*:health", &from, &frames, &groups, &to)) {
        return NULL;
    }
    const Py_ssize_t statistics = read_groups(&on, groups.buf, groups.len);
    const bool sound = (statistics > 0) && (frames > 0) && (frames <= (Py_ssize_t)TCUQ_HEALTH_MAX_FRAMES);
    const Py_ssize_t samples = sound ? frames * on.health.width : 1;
    const Py_ssize_t windows = from.len / (samples * (Py_ssize_t)sizeof(int16_t));
    const bool fits = sound && (windows * samples * (Py_ssize_t)sizeof(int16_t) == from.len) &&
                      (to.len == windows * statistics * (Py_ssize_t)sizeof(int16_t));
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < windows; i++) {
            tcuq_health_fold_frames(&on.health, (const int16_t *)from.buf + i * samples, (uint32_t)frames);
            (void)tcuq_health_finish(&on.health, (int16_t *)to.buf + i * statistics);
        }
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&from);
    PyBuffer_Release(&groups);
    PyBuffer_Release(&to);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "groups must be valid, windows be whole, and one int16 be given"
                                          " for each statistic");
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef health_methods[] = {
    {"health", health, METH_VARARGS,
     "health(windows, frames, groups, into, /)\n--\n\n"
     "The int16 statistics of int16 windows of so many frames. Groups are two bytes each: channels,\n"
     "and whether spread is wanted."},
    {NULL, NULL, 0, NULL},
};
