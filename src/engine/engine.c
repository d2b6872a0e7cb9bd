/* SPDX-License-Identifier: Apache-2.0 */
/* The Engine type: the C runtime for Python. An Engine owns copies of its profile's arrays and the monitor's
 * memory, and references to the types of a Decision's members. */
#include "checksums.h"
#include "engine.h"
#include "health.h"

#include <structmember.h>

/* ---- allocation and release ---- */

static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *spec;
    PyObject *decision;
    PyObject *outcomes;
    PyObject *alarms;
    PyObject *cause;
    static char *names[] = {"spec", "decision", "outcomes", "alarms", "cause", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O:Engine", names, &PyDict_Type, &spec,
                                     &PyType_Type, &decision, &PyTuple_Type, &outcomes,
                                     &PyTuple_Type, &alarms, &cause)) {
        return NULL;
    }
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    engine *self = (engine *)allocate(type, 0); /* zeroed */
    if ((self != NULL) && (decisions_read(self, decision, outcomes, alarms, cause) == 0) &&
        (engine_read(self, spec) == 0)) {
        const tcuq_status status = tcuq_init(&self->monitor);
        if (status == TCUQ_OK) {
            return (PyObject *)self;
        }
        PyErr_SetString(PyExc_ValueError, tcuq_strerror(status));
    }
    Py_XDECREF((PyObject *)self);
    return NULL;
}

/* No tp_clear: as with a tuple, an Engine's references never change, so that a cycle is broken elsewhere. */
static int engine_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((engine *)object)->decisions);
    return 0;
}

static void engine_dealloc(PyObject *object)
{
    engine *self = (engine *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Py_XDECREF(self->decisions);
    while (self->count > 0) {
        self->count--;
        PyMem_Free(self->blocks[self->count]);
    }
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* ---- methods ---- */

static PyObject *engine_reset(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    tcuq_reset(&self->monitor);
    Py_RETURN_NONE;
}

static PyObject *engine_reset_history(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    tcuq_reset_history(&self->monitor);
    Py_RETURN_NONE;
}

static PyObject *engine_epoch(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const tcuq_core *core = self->monitor.core;
    return Py_BuildValue("iii", (int)core->epoch, (int)tcuq_epoch_evidence(&self->monitor),
                         (int)core->closed);
}

static PyObject *engine_snapshot(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const uint32_t size = tcuq_snapshot_size(&self->monitor);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes != NULL) {
        (void)tcuq_snapshot(&self->monitor, (uint8_t *)PyBytes_AsString(bytes), size);
    }
    return bytes;
}

static PyObject *engine_restore(PyObject *object, PyObject *snapshot)
{
    engine *self = (engine *)object;
    Py_buffer view;
    if (PyObject_GetBuffer(snapshot, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    if (engine_free_to_use(self) < 0) {
        PyBuffer_Release(&view);
        return NULL;
    }
    const uint32_t size = (view.len > (Py_ssize_t)UINT32_MAX) ? UINT32_MAX : (uint32_t)view.len;
    const tcuq_status status = tcuq_restore(&self->monitor, view.buf, size);
    PyBuffer_Release(&view);
    if (status != TCUQ_OK) {
        PyErr_SetString(PyExc_ValueError, tcuq_strerror(status));
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *engine_telemetry(PyObject *object, PyObject *unused)
{
    engine *self = (engine *)object;
    (void)unused;
    if (engine_free_to_use(self) < 0) {
        return NULL;
    }
    const tcuq_telemetry t = *self->monitor.telemetry;
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

static PyObject *engine_record(PyObject *object, PyObject *args)
{
    engine *self = (engine *)object;
    unsigned long long device;
    unsigned long firmware;
    unsigned long boot;
    unsigned long sequence;
    uint8_t record[TCUQ_RECORD_BYTES];
    if (!PyArg_ParseTuple(args, "Kkkk:record", &device, &firmware, &boot, &sequence) ||
        (engine_free_to_use(self) < 0)) {
        return NULL;
    }
    const tcuq_identity identity = {
        device, (uint32_t)firmware, (uint32_t)boot, (uint32_t)sequence,
    };
    (void)tcuq_record(&self->monitor, &identity, record, sizeof record);
    return PyBytes_FromStringAndSize((const char *)record, sizeof record);
}

/* The only cast to a fast call's slot without a warning about the function's type. */
#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef engine_methods[] = {
    {"step", FAST(engine_step), METH_FASTCALL,
     "step($self, posterior, features, health, /)\n--\n\n"
     "A Decision; None if the arrays must be converted first, or break a rule."},
    {"takes", FAST(engine_takes), METH_FASTCALL,
     "takes($self, posteriors, features, health, /)\n--\n\n"
     "Whether these are arrays of many steps that run takes as they are."},
    {"run", FAST(engine_run), METH_FASTCALL,
     "run($self, posteriors, features, health, label, risk, threshold, exceeded, outcome, alarm,"
     " cause, promised, /)\n--\n\nMany steps, without the GIL, into the eight last arguments. How many were run: fewer\n"
     "than given if a step breaks a rule; the state is then of no use."},
    {"quantize", FAST(engine_quantize), METH_FASTCALL,
     "quantize($self, posteriors, features, /)\n--\n\n"
     "The device's bytes of many steps' posteriors and features; None if a step breaks a rule."},
    {"observe", FAST(engine_observe), METH_FASTCALL,
     "observe($self, posteriors, features, health, /)\n--\n\n"
     "Many steps' signals, ten int32 a step; None if a step breaks a rule."},
    {"score", engine_score, METH_O,
     "score($self, observed, /)\n--\n\n"
     "Of signals that observe gave: the risk levels, a uint16 a step, and what each term's mean\n"
     "was then, an int16 a step and term. Without an EWMA the latter is of no use."},
    {"replay", FAST(engine_replay), METH_FASTCALL,
     "replay($self, others, posteriors, features, health, labels, counts, decisions, /)\n--\n\n"
     "Many steps under this profile and others that see the same signals, without the GIL.\n"
     "How many were run, as run."},
    {"signals", FAST(engine_signals), METH_FASTCALL,
     "signals($self, posterior, features, health, /)\n--\n\n"
     "The signals of a step, which then is the past's newest: (label, confidence_q16,\n"
     "divergence_q15, instability_q15, inconsistency_q15, doubt_q15, low_confidence_q10,\n"
     "novelty_q10, whole_past, health_q10, health_given); None as step."},
    {"reset", engine_reset, METH_NOARGS,
     "reset($self, /)\n--\n\nBack to the calibrated state."},
    {"reset_history", engine_reset_history, METH_NOARGS,
     "reset_history($self, /)\n--\n\nForgets the past, keeps threshold, budget and evidence."},
    {"epoch", engine_epoch, METH_NOARGS,
     "epoch($self, /)\n--\n\n"
     "The running epoch's number, log2 of its e-value in 1/256 bit, and log2 of the last closed\n"
     "epoch's e-value in 1/2 bit, which means nothing before an epoch has closed."},
    {"snapshot", engine_snapshot, METH_NOARGS,
     "snapshot($self, /)\n--\n\nThe state, to survive a restart."},
    {"restore", engine_restore, METH_O,
     "restore($self, snapshot, /)\n--\n\nContinues from a snapshot; ValueError if it is no good."},
    {"record", engine_record, METH_VARARGS,
     "record($self, device, firmware, boot, sequence, /)\n--\n\n"
     "The telemetry record."},
    {"telemetry", engine_telemetry, METH_NOARGS,
     "telemetry($self, /)\n--\n\nThe counters since the last reset."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef engine_members[] = {
    {"storage_bytes", T_PYSSIZET, offsetof(engine, storage), READONLY, "Bytes of state a device keeps."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot engine_slots[] = {
    {Py_tp_doc, "Engine(spec, decision, outcomes, alarms, cause)\n--\n\n"
                "The C runtime, running the profile a spec describes; cause(alarm, statistic)\n"
                "returns a Decision's cause in words."},
    {Py_tp_new, engine_new},
    {Py_tp_traverse, engine_traverse},
    {Py_tp_dealloc, engine_dealloc},
    {Py_tp_methods, engine_methods},
    {Py_tp_members, engine_members},
    {0, NULL},
};

static PyType_Spec engine_spec = {
    .name = "tcuq.runtime._engine.Engine",
    .basicsize = (int)sizeof(engine),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = engine_slots,
};

/* The log-odds that the alarm takes of each risk level. */
static int add_risk_odds(PyObject *module)
{
    int16_t odds[TCUQ_RISK_LEVELS + 1u];
    for (uint32_t level = 0u; level <= TCUQ_RISK_LEVELS; level++) {
        odds[level] = tcuq_risk_odds_q10((uint16_t)level);
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)odds, sizeof odds);
    const int added = PyModule_AddObjectRef(module, "risk_odds_q10", bytes);
    Py_XDECREF(bytes);
    return added;
}

static int module_exec(PyObject *module)
{
    checksums_prepare();
    if (add_risk_odds(module) < 0) {
        return -1;
    }
    PyObject *type = PyType_FromModuleAndSpec(module, &engine_spec, NULL);
    if ((type == NULL) || (PyModule_AddFunctions(module, health_methods) < 0)) {
        Py_XDECREF(type);
        return -1;
    }
    const int added = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    return added;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tcuq.runtime._engine",
    .m_doc = "The C runtime of the monitor.",
    .m_size = 0,
    .m_methods = checksums_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__engine(void)
{
    return PyModuleDef_Init(&module);
}
