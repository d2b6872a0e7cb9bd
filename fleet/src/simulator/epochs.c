/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of whole epochs whose blocks the caller drew: the device's own code, without devices. */
#include "module.h"

#define BLOCK 16u /* steps */

/* Run one epoch of blocks that passed so many edges, and return its evidence before it closes. */
static int16_t run_epoch(const tcuq_monitor *monitor, const uint8_t *passed, uint32_t blocks)
{
    tcuq_alarm_reset(monitor);
    monitor->core->age = TCUQ_BOOT_STEPS + 1u; /* later alarms leave the epoch's evidence as it is */
    for (uint32_t i = 0u; i < blocks; i++) {
        for (uint32_t j = 0u; j < monitor->profile->channel_count; j++) {
            (void)tcuq_alarm_block(monitor, j, passed[(size_t)i * monitor->profile->channel_count + j]);
        }
        tcuq_epoch_count(monitor, BLOCK);
    }
    return tcuq_epoch_evidence(monitor);
}

static void run_epochs(const int16_t *gains_q8, uint8_t channel_count, uint32_t blocks, Py_buffer *views,
                       Py_ssize_t epochs)
{
    tcuq_channel channels[TCUQ_MAX_CHANNELS] = {{0}};
    tcuq_channel_state states[TCUQ_MAX_CHANNELS] = {{0}};
    tcuq_core core = {0};
    const tcuq_profile profile = {.channels = channels,
                                  .channel_count = channel_count,
                                  .alarm_limit = TCUQ_MAX_ALARM_LIMIT,
                                  .epoch_steps = blocks * BLOCK + 1u};
    const tcuq_monitor monitor = {.profile = &profile, .core = &core, .channels = states};
    for (uint32_t i = 0u; i < channel_count; i++) {
        channels[i].block = BLOCK;
        channels[i].boot_limit_q8 = INT16_MAX;
        for (uint32_t j = 0u; j < TCUQ_GAINS; j++) {
            channels[i].gains_q8[j] = gains_q8[j];
        }
        for (uint32_t j = 0u; j < TCUQ_COUNTS; j++) {
            channels[i].counts[j] = 1u; /* of the learning bets, which are no part of the evidence */
        }
    }
    const uint8_t *passed = views[0].buf;
    int16_t *evidence_q8 = views[1].buf;
    for (Py_ssize_t i = 0; i < epochs; i++) {
        evidence_q8[i] = run_epoch(&monitor, &passed[(size_t)i * blocks * channel_count], blocks);
    }
}

PyObject *epoch_evidence(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *arrays[2];
    Py_buffer views[MAX_ARRAYS];
    unsigned int blocks;
    unsigned char channels;
    int16_t gains_q8[TCUQ_GAINS];
    if (!PyArg_ParseTuple(args, "(hhhh)IbOO:epoch_evidence", &gains_q8[0], &gains_q8[1], &gains_q8[2], &gains_q8[3],
                          &blocks, &channels, &arrays[0], &arrays[1])) {
        return NULL;
    }
    if ((channels < 1u) || (channels > TCUQ_MAX_CHANNELS) || (blocks < 1u) || (blocks > 65535u)) {
        PyErr_Format(PyExc_ValueError, "channels must lie in 1..%u and blocks in 1..65535, got %u and %u",
                     TCUQ_MAX_CHANNELS, (unsigned int)channels, blocks);
        return NULL;
    }
    const array_spec specs[2] = {{"passed", (Py_ssize_t)blocks * channels, 0}, {"evidence_q8", 2, PyBUF_WRITABLE}};
    const Py_ssize_t epochs = get_arrays(arrays, specs, 2, views);
    if (epochs < 0) {
        return NULL;
    }
    const uint8_t *passed = views[0].buf;
    int status = 0;
    for (Py_ssize_t i = 0; (status == 0) && (i < views[0].len); i++) {
        if (passed[i] > TCUQ_EDGES) {
            PyErr_Format(PyExc_ValueError, "passed must lie in 0..%u, got %u", TCUQ_EDGES, (unsigned int)passed[i]);
            status = -1;
        }
    }
    if (status == 0) {
        run_epochs(gains_q8, channels, blocks, views, epochs);
    }
    release_arrays(views, 2);
    return (status == 0) ? Py_NewRef(Py_None) : NULL;
}
