/* SPDX-License-Identifier: Apache-2.0 */
/* The Simulator type: simulated devices for Python, with arrays as inputs and outputs. */
#include "module.h"

#define MONITOR_BYTES 512u /* at least a monitor's snapshot */

static int allocate_memory(simulation *sim, uint32_t count)
{
    const size_t slot_bytes = (size_t)sim->plan.slots * TCUQ_RECORD_BYTES;
    size_t buckets = 2u;
    while (buckets < 2u * (size_t)count) {
        buckets *= 2u;
    }
    sim->mask = (uint32_t)(buckets - 1u);
    sim->count = count;
    sim->due_s = PyMem_Calloc(count + 1u, sizeof *sim->due_s);
    sim->buckets = PyMem_Malloc(buckets * sizeof *sim->buckets);
    sim->slots = PyMem_Calloc(count + 1u, slot_bytes);
    sim->snapshot = PyMem_Malloc(TCUQ_UPLINK_BYTES(sim->plan.slots, TCUQ_RECORD_BYTES) + MONITOR_BYTES);
    sim->devices = PyMem_Calloc(count + 1u, sizeof *sim->devices);
    if ((sim->due_s == NULL) || (sim->buckets == NULL) || (sim->slots == NULL) ||
        (sim->snapshot == NULL) || (sim->devices == NULL)) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0u; i < buckets; i++) {
        sim->buckets[i] = NEVER;
    }
    return 0;
}

static int create_devices(simulation *sim, PyObject *const *arrays)
{
    static const array_spec specs[5] = {
        {"device", 8, 0}, {"profile", 4, 0}, {"firmware", 4, 0}, {"cohort", 4, 0}, {"drifts_from", 4, 0},
    };
    Py_buffer views[MAX_ARRAYS];
    const Py_ssize_t count = get_arrays(arrays, specs, 5, views);
    if (count < 0) {
        return -1;
    }
    const uint64_t *id = views[0].buf;
    const uint32_t *const columns[4] = {views[1].buf, views[2].buf, views[3].buf, views[4].buf};
    int status = allocate_memory(sim, (uint32_t)count);
    for (Py_ssize_t i = 0; (status == 0) && (i < count); i++) {
        const device_info info = {id[i], columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
        if (find_device(sim, info.id) != NEVER) {
            PyErr_Format(PyExc_ValueError, "device ids must be distinct, got %llu twice",
                         (unsigned long long)info.id);
            status = -1;
            break;
        }
        start_device(sim, (uint32_t)i, &info);
    }
    release_arrays(views, 5);
    return status;
}

static int check_plan(const plan *plan)
{
    if ((plan->on_hours >= 1u) && (plan->on_hours <= HOURS_PER_DAY) && (plan->steps >= 1u) &&
        (plan->block >= 1u) && (plan->block <= TCUQ_MAX_BLOCK) && (plan->epoch_steps >= 1u) &&
        (plan->resend_s >= 1u) && (plan->longest_s >= plan->resend_s) &&
        (plan->slots >= TCUQ_UPLINK_MIN_SLOTS) && (plan->hours < NEVER / HOUR_S)) {
        return 0;
    }
    PyErr_SetString(PyExc_ValueError, "steps, block, epoch_steps and resend_s must be at least 1, on_hours in 1..24,"
                                      " block at most 8192, longest_s at least resend_s, slots at least 2,"
                                      " hours below 1193046");
    return -1;
}

static PyObject *simulator_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"device", "profile", "firmware", "cohort", "drifts_from", "seed", "hours", "on_hours",
                            "steps", "block", "epoch_steps", "reboot_q32", "sharing_q16", "slots", "resend_s",
                            "longest_s", NULL};
    PyObject *arrays[5];
    unsigned long long seed;
    plan options = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOOOOKIIIIIIIbHH:Simulator", names, &arrays[0], &arrays[1],
                                     &arrays[2], &arrays[3], &arrays[4], &seed, &options.hours, &options.on_hours,
                                     &options.steps, &options.block, &options.epoch_steps, &options.reboot_q32,
                                     &options.sharing_q16, &options.slots, &options.resend_s,
                                     &options.longest_s) ||
        (check_plan(&options) < 0)) {
        return NULL;
    }
    const allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    simulator *self = (simulator *)allocate(type, 0); /* zeroed */
    if (self != NULL) {
        options.seed = seed;
        self->sim.plan = options;
        init_distributions(&self->sim);
        self->in_use = PyThread_allocate_lock();
        if (self->in_use == NULL) {
            PyErr_NoMemory();
        } else if (create_devices(&self->sim, arrays) == 0) {
            return (PyObject *)self;
        }
        Py_DECREF((PyObject *)self);
    }
    return NULL;
}

static void simulator_dealloc(PyObject *object)
{
    simulation *sim = &((simulator *)object)->sim;
    PyTypeObject *type = Py_TYPE(object);
    if (((simulator *)object)->in_use != NULL) {
        PyThread_free_lock(((simulator *)object)->in_use);
    }
    PyMem_Free(sim->due_s);
    PyMem_Free(sim->buckets);
    PyMem_Free(sim->slots);
    PyMem_Free(sim->snapshot);
    PyMem_Free(sim->devices);
    const freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

static PyMethodDef simulator_methods[] = {
    {"advance", simulator_advance, METH_VARARGS,
     "advance($self, now_s, devices, records, /)\n--\n\n"
     "Run devices until now; write the senders and their records to the arrays, and return how many.\n"
     "If the arrays are full, call again for the rest."},
    {"acknowledge", simulator_acknowledge, METH_VARARGS,
     "acknowledge($self, now_s, acks, /)\n--\n\n"
     "Pass acknowledgements of 16 bytes each to their devices; return how many match no sent record."},
    {"truth", simulator_truth, METH_VARARGS,
     "truth($self, counters, boot, sequence, refused, waiting, /)\n--\n\n"
     "Write for each device the sums over boots of steps, abstained, denied, exceeded and alarms, the last\n"
     "boot and sequence, the records refused because no slot was free, and the unacknowledged records."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot simulator_slots[] = {
    {Py_tp_doc, "Simulator(device, profile, firmware, cohort, drifts_from, seed, hours, on_hours, steps,\n"
                "          block, epoch_steps, reboot_q32, sharing_q16, slots, resend_s, longest_s)\n--\n\n"
                "Simulated devices that run the device's own code."},
    {Py_tp_new, simulator_new},
    {Py_tp_dealloc, simulator_dealloc},
    {Py_tp_methods, simulator_methods},
    {0, NULL},
};

static PyType_Spec simulator_spec = {
    .name = "tcuq_fleet.simulate._simulator.Simulator",
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
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyMethodDef functions[] = {
    {"epoch_evidence", epoch_evidence, METH_VARARGS,
     "epoch_evidence(gains_q8, blocks, channels, passed, evidence_q8, /)\n--\n\n"
     "Run epochs of blocks that passed so many edges; write the evidence of each, in 1/256 bit."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tcuq_fleet.simulate._simulator",
    .m_doc = "Simulated devices that run the device's own code.",
    .m_size = 0,
    .m_methods = functions,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__simulator(void)
{
    return PyModuleDef_Init(&module);
}
