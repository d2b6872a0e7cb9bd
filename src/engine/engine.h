/* SPDX-License-Identifier: Apache-2.0 */
/* The host's engine, tcuq.runtime._engine: declarations of its files. Built for hosts, never flashed.
 * Limited API of Python 3.11, one build for all later ones; CMake defines it where Python has it. A free-threaded
 * Python has none: there the module is built for its version and says that it needs no GIL. */
#ifndef ENGINE_H
#define ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "columns.h"
#include "exclusive.h"
#include "field.h"
#include "quantize.h"
#include "tcuq.h"
#include "tcuq_internal.h"

/* Thirteen arrays, terms and two arrays each, channels, seven parts of the monitor's memory, scratch. */
#define ENGINE_BLOCKS (13 + 1 + 2 * (int)TCUQ_MAX_TERMS + 1 + 7 + 1)
#define DECISION_MEMBERS 15

typedef struct {
    PyObject ob_base;
    tcuq_profile profile;
    tcuq_monitor monitor;
    quantizer quantizer;
    Py_ssize_t storage;
    Py_ssize_t block; /* capacity of scratch in steps */
    uint8_t *scratch; /* their posteriors, then their features */
    exclusive in_use;
    int count;
    void *blocks[ENGINE_BLOCKS];
    PyObject *decisions; /* a tuple: the Decision type, outcomes, alarms, cause, the members */
    allocfunc allocate;
    descrsetfunc set[DECISION_MEMBERS];
} engine;

/* fields.c: numbers of a dict, into a struct by its table (layout.h). */

/* A dict of the spec and the prefix of its fields in errors. */
typedef struct {
    PyObject *dict;
    char prefix[24]; /* "", "terms[0]." */
} place;

/* A new reference to a field's value; null with an error set if it is missing. */
PyObject *field_value(const place *at, const char *name);
int wrong_field(const place *at, const char *name, PyObject *error, const char *what);
int read_fields(const place *at, const field *fields, void *into);
int view_of(PyObject *value, const char *prefix, const char *name, int flags, Py_buffer *view);
PyObject *tuple_of(const long *values, Py_ssize_t count);

/* memory.c: zeroed memory that is freed with the engine; null with an error set. */
void *engine_calloc(engine *self, size_t count, size_t size);

/* Allocates the memory that the profile's monitor needs; -1 with an error set. */
int engine_allocate(engine *self);

/* spec.c: fills profile, monitor and quantizer from a dict; -1 with an error set. */
int engine_read(engine *self, PyObject *spec);

/* inputs.c: one step or many, as arrays that need no conversion. */
#define INPUTS 3 /* posteriors, features, health */

typedef struct {
    Py_buffer posteriors;
    Py_buffer features; /* buf is null where there are none */
    Py_buffer health;   /* int16; buf is null where there is none, or the profile reads none */
    item posterior;
    item feature;
    Py_ssize_t steps;
} inputs;

/* Rows (dimensions 1) or arrays of rows (2); false, without an error, if they must be converted first. */
bool inputs_take(const engine *self, PyObject *const *args, int dimensions, inputs *in);
void inputs_release(inputs *in);

/* Consecutive steps as the device takes them. */
typedef struct {
    const uint8_t *posterior;
    const int8_t *features; /* or null */
    const int16_t *health;  /* or null */
} device_rows;

/* The device's bytes of steps from `begin` on: the arrays' own, or in scratch, which holds
 * self->block of them. False: a number breaks its rule. */
bool inputs_quantized(const engine *self, const inputs *in, Py_ssize_t begin, Py_ssize_t count,
                      device_rows *at);

/* The rows from `steps` further on. */
static inline void rows_advance(const tcuq_profile *profile, size_t steps, device_rows *at)
{
    at->posterior += steps * profile->classes;
    at->features = (at->features == NULL) ? NULL : at->features + steps * profile->width;
    at->health = (at->health == NULL) ? NULL : at->health + steps * profile->health_count;
}

/* decision.c: stores the types of a Decision's members; -1 with an error set. */
int decisions_read(engine *self, PyObject *type, PyObject *const *words);
PyObject *decision_of(const engine *self, const tcuq_decision *d, bool promise);

/* Processes the device's bytes of steps from `begin` on; `out` belongs to the consumer. */
typedef void (*consumer)(engine *self, device_rows at, Py_ssize_t begin, Py_ssize_t count,
                         void *const *out);

#define OBSERVED 11 /* numbers per step from observe */

/* steps.c: runs all steps, in blocks, without the GIL; returns how many came before an invalid number. */
Py_ssize_t consume(engine *self, const inputs *in, consumer each, void *const *out);

/* The methods that take steps. */
PyObject *engine_step(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *engine_signals(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *engine_takes(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *engine_run(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *engine_quantize(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* True, with an error set, if a method has other than `expected` arguments. */
bool wrong_count(Py_ssize_t count, int expected);

/* Arrays of many steps; -1 with an error set if they must be converted first. */
int inputs_needed(const engine *self, PyObject *const *args, inputs *in);

/* state.c */
PyObject *engine_reset(PyObject *object, PyObject *unused);
PyObject *engine_acknowledge(PyObject *object, PyObject *unused);
PyObject *engine_reset_history(PyObject *object, PyObject *unused);
PyObject *engine_epoch(PyObject *object, PyObject *unused);
PyObject *engine_snapshot(PyObject *object, PyObject *unused);
PyObject *engine_restore(PyObject *object, PyObject *snapshot);
PyObject *engine_telemetry(PyObject *object, PyObject *unused);
PyObject *engine_record(PyObject *object, PyObject *args);

/* score.c */
PyObject *engine_observe(PyObject *self, PyObject *const *args, Py_ssize_t count);
PyObject *engine_score(PyObject *self, PyObject *observed);

/* checksums.c, health.c: functions of the module; the tables are filled once, when it is loaded. */
extern PyMethodDef checksums_methods[];
extern PyMethodDef health_methods[];
void checksums_prepare(void);

/* replay.c: many steps under several profiles. */
PyObject *engine_replay(PyObject *self, PyObject *const *args, Py_ssize_t count);

/* The engine for this thread until engine_release; false with an error set if another thread has it. */
static inline bool engine_take(engine *self)
{
    const bool acquired = exclusive_try_acquire(&self->in_use);
    if (!acquired) {
        PyErr_SetString(PyExc_RuntimeError, "this monitor is in use by another thread");
    }
    return acquired;
}

static inline void engine_release(engine *self)
{
    exclusive_release(&self->in_use);
}

#endif
