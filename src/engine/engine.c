/* SPDX-License-Identifier: Apache-2.0 */
/* The Engine type: the C runtime for Python. An Engine owns copies of its profile's arrays and the monitor's
 * memory, and references to the types of a Decision's members. */
#include "engine.h"

#include <structmember.h>

/* ---- allocation and release ---- */

static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *spec;
    PyObject *decision;
    PyObject *words[4];
    static char *names[] = {"spec", "decision", "outcomes", "reasons", "alarms", "cause", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!O!O!O:Engine", names, &PyDict_Type, &spec,
                                     &PyType_Type, &decision, &PyTuple_Type, &words[0], &PyTuple_Type,
                                     &words[1], &PyTuple_Type, &words[2], &words[3])) {
        return NULL;
    }
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    engine *self = (engine *)allocate(type, 0); /* zeroed */
    if ((self != NULL) && (decisions_read(self, decision, words) == 0) &&
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
     "run($self, posteriors, features, health, label, steady_label, risk, expected_error, novelty,"
     " threshold, exceeded, reason, outcome, withheld, alarm, amber, cause, change, promised, /)\n--\n\n"
     "Many steps, without the GIL, into the arguments from label on. How many were run: fewer\n"
     "than given if a step breaks a rule; the state is then of no use."},
    {"quantize", FAST(engine_quantize), METH_FASTCALL,
     "quantize($self, posteriors, features, /)\n--\n\n"
     "The device's bytes of many steps' posteriors and features; None if a step breaks a rule."},
    {"observe", FAST(engine_observe), METH_FASTCALL,
     "observe($self, posteriors, features, health, /)\n--\n\n"
     "Many steps' signals, eleven int32 a step; None if a step breaks a rule."},
    {"score", engine_score, METH_O,
     "score($self, observed, /)\n--\n\n"
     "Of signals that observe gave: the risk levels, a uint16 a step."},
    {"replay", FAST(engine_replay), METH_FASTCALL,
     "replay($self, others, posteriors, features, health, labels, counts, decisions, /)\n--\n\n"
     "Many steps under this profile and others that see the same signals, without the GIL.\n"
     "How many were run, as run."},
    {"signals", FAST(engine_signals), METH_FASTCALL,
     "signals($self, posterior, features, health, /)\n--\n\n"
     "The signals of a step, which then is the past's newest: (label, confidence_q16,\n"
     "divergence_q15, instability_q15, inconsistency_q15, doubt_q15, low_confidence_q10,\n"
     "novelty_q10, contradiction_q10, whole_past, health_q10, health_given); None as step."},
    {"reset", engine_reset, METH_NOARGS,
     "reset($self, /)\n--\n\nBack to the calibrated state."},
    {"acknowledge", engine_acknowledge, METH_NOARGS,
     "acknowledge($self, /)\n--\n\nForgets what the alarm learned, and that one was raised."},
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
    {Py_tp_doc, "Engine(spec, decision, outcomes, reasons, alarms, cause)\n--\n\n"
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
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
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
