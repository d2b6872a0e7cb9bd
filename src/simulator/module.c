/* SPDX-License-Identifier: Apache-2.0 */
/* The Simulator type: a fleet of simulated devices as Python sees it, arrays in and out. */
#include "module.h"

static int memory_given(fleet *all, uint32_t count)
{
    const size_t room = (size_t)all->plan.slots * TCUQ_RECORD_BYTES;
    size_t places = 2u;
    while (places < 2u * (size_t)count) {
        places *= 2u;
    }
    all->mask = (uint32_t)(places - 1u);
    all->count = count;
    all->due_s = PyMem_Calloc(count + 1u, sizeof *all->due_s);
    all->places = PyMem_Malloc(places * sizeof *all->places);
    all->slots = PyMem_Calloc(count + 1u, room);
    all->saved = PyMem_Malloc(TCUQ_UPLINK_BYTES(all->plan.slots, TCUQ_RECORD_BYTES));
    all->devices = PyMem_Calloc(count + 1u, sizeof *all->devices);
    if ((all->due_s == NULL) || (all->places == NULL) || (all->slots == NULL) ||
        (all->saved == NULL) || (all->devices == NULL)) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0u; i < places; i++) {
        all->places[i] = NEVER;
    }
    return 0;
}

static int devices_made(fleet *all, PyObject *const *from)
{
    static const array of[5] = {
        {"device", 8, 0}, {"profile", 4, 0}, {"firmware", 4, 0}, {"cohort", 4, 0}, {"drifts_from", 4, 0},
    };
    Py_buffer views[MOST_ARRAYS];
    const Py_ssize_t count = arrays_taken(from, of, 5, views);
    if (count < 0) {
        return -1;
    }
    const uint64_t *id = views[0].buf;
    const uint32_t *const columns[4] = {views[1].buf, views[2].buf, views[3].buf, views[4].buf};
    int made = memory_given(all, (uint32_t)count);
    for (Py_ssize_t i = 0; (made == 0) && (i < count); i++) {
        const described is = {id[i], columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
        if (device_of(all, is.id) != NEVER) {
            PyErr_Format(PyExc_ValueError, "device: %llu stands there twice", (unsigned long long)is.id);
            made = -1;
            break;
        }
        device_started(all, (uint32_t)i, &is);
    }
    arrays_released(views, 5);
    return made;
}

static int plan_sound(const plan *given)
{
    if ((given->steps >= 1u) && (given->block >= 1u) && (given->records_per_epoch >= 1u) &&
        (given->resend_s >= 1u) && (given->longest_s >= given->resend_s) &&
        (given->slots >= TCUQ_UPLINK_MIN_SLOTS) && (given->hours < NEVER / HOUR_S)) {
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "steps, block, records_per_epoch and resend_s must be at least 1,"
                                      " longest_s at least resend_s, slots at least 2, hours below 1193046");
    return -1;
}

static PyObject *simulator_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "profile", "firmware", "cohort", "drifts_from", "seed", "hours",
                            "steps", "block", "records_per_epoch", "reboot_q32", "sharing_q16", "slots",
                            "resend_s", "longest_s", NULL};
    PyObject *from[5];
    unsigned long long seed;
    plan given = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOKIIIIIIbHH:Simulator", names, &from[0], &from[1],
                                     &from[2], &from[3], &from[4], &seed, &given.hours, &given.steps,
                                     &given.block, &given.records_per_epoch, &given.reboot_q32,
                                     &given.sharing_q16, &given.slots, &given.resend_s,
                                     &given.longest_s) ||
        (plan_sound(&given) < 0)) {
        return NULL;
    }
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    simulator *self = (simulator *)allocate(type, 0); /* zeroed */
    if (self != NULL) {
        given.seed = seed;
        self->all.plan = given;
        laws_made(&self->all);
        if (devices_made(&self->all, from) == 0) {
            return (PyObject *)self;
        }
        Py_DECREF((PyObject *)self);
    }
    return NULL;
}

static void simulator_dealloc(PyObject *object)
{
    fleet *all = &((simulator *)object)->all;
    PyTypeObject *type = Py_TYPE(object);
    PyMem_Free(all->due_s);
    PyMem_Free(all->places);
    PyMem_Free(all->slots);
    PyMem_Free(all->saved);
    PyMem_Free(all->devices);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef simulator_methods[] = {
    {"advance", simulator_advance, METH_VARARGS,
     "advance($self, now_s, devices, records, /)\n--\n\n"
     "What devices do until now; how many records they sent, into the arrays given: whose, and what.\n"
     "As many as there is room for were not all, so ask again."},
    {"stored", simulator_stored, METH_VARARGS,
     "stored($self, now_s, acks, /)\n--\n\n"
     "Acknowledgements, 16 bytes each; how many were of no device, or of what it never sent."},
    {"truth", simulator_truth, METH_VARARGS,
     "truth($self, counters, boot, sequence, refused, waiting, /)\n--\n\n"
     "Of each device: sums over boots of steps, abstained, denied, exceeded, alarms; the last boot and\n"
     "sequence; records refused for want of a slot; records that wait for their acknowledgement."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot simulator_slots[] = {
    {Py_tp_doc, "Simulator(device, profile, firmware, cohort, drifts_from, seed, hours, steps, block,\n"
                "          records_per_epoch, reboot_q32, sharing_q16, slots, resend_s, longest_s)\n--\n\n"
                "A fleet of simulated devices that send by the device's own code."},
    {Py_tp_new, simulator_new},
    {Py_tp_dealloc, simulator_dealloc},
    {Py_tp_methods, simulator_methods},
    {0, NULL},
};

static PyType_Spec simulator_spec = {
    .name = "tcuq.fleet.simulate._simulator.Simulator",
    .basicsize = (int)sizeof(simulator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = simulator_slots,
};

static int module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &simulator_spec, NULL);
    if (type == NULL) {
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
    .m_name = "tcuq.fleet.simulate._simulator",
    .m_doc = "Simulated devices with the device's own code.",
    .m_size = 0,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__simulator(void)
{
    return PyModuleDef_Init(&module);
}
