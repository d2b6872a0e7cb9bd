/* SPDX-License-Identifier: Apache-2.0 */
/* Replay: many steps under several profiles at once, counted, without the GIL. Profiles with the same signals
 * share them: the first engine of a call computes them, each decides by its own score, threshold, budget and
 * alarm, and at the end has the past it would have had alone. Novelty is shared where its reference is the same. */
#include <string.h>
#include "engine.h"

#define SIGNAL_STEPS 64 /* steps whose signals are computed together: they fit the first cache */

/* The counts of a stream, in the order of tcuq.replay.function. */
enum {
    STEPS, EXCEEDED, ABSTAINED, DENIED, ALARMS,
    CHANNELS, FIRST_ALARM = CHANNELS + (int)TCUQ_MAX_CHANNELS, /* 1 and the step of it; 0: none */
    LABELLED, LABELLED_ABSTAINED, WRONG, WRONG_ABSTAINED,
    HISTOGRAM,
    COUNTS = HISTOGRAM + (int)TCUQ_HISTOGRAM_BINS
};

/* One profile of a call. */
typedef struct {
    engine *of;
    size_t novelty; /* the first profile of the call whose novelty is this one's */
    int64_t *counts;
    uint8_t *decisions; /* one byte per step, or null */
    int16_t novelties_q10[SIGNAL_STEPS];
} member;

/* The profiles of a call. */
typedef struct {
    member *members;
    size_t count;
    const int32_t *labels; /* or null */
} group;

static bool equal_bytes(const void *left, const void *right, size_t bytes)
{
    return (left == right) ||
           ((left != NULL) && (right != NULL) && (memcmp(left, right, bytes) == 0));
}

/* Whether two engines compute the same signals from the same steps, except novelty. */
static bool same_signals(const engine *self, const engine *other)
{
    const tcuq_profile *a = &self->profile;
    const tcuq_profile *b = &other->profile;
    const size_t rows = a->dimensions;
    return (a->classes == b->classes) && (a->width == b->width) && (a->dimensions == b->dimensions) &&
           (a->health_count == b->health_count) &&
           (a->lag_count == b->lag_count) && (memcmp(a->lags, b->lags, a->lag_count) == 0) &&
           (a->blend_q15 == b->blend_q15) && (a->stay_q8 == b->stay_q8) && (a->rest_q8 == b->rest_q8) &&
           (a->change_q8 == b->change_q8) && (a->projection_shift == b->projection_shift) &&
           equal_bytes(a->selection, b->selection, rows) &&
           equal_bytes(a->projection, b->projection, rows * a->width) &&
           equal_bytes(a->projection_bias, b->projection_bias, rows * sizeof(int32_t)) &&
           (self->quantizer.logits == other->quantizer.logits) &&
           (self->quantizer.feature_scale == other->quantizer.feature_scale);
}

static bool same_novelty(const tcuq_profile *a, const tcuq_profile *b)
{
    const size_t groups = (a->dimensions + 3u) / 4u;
    return (a->mean_count == b->mean_count) && (a->novelty_exponent == b->novelty_exponent) &&
           equal_bytes(a->whitening, b->whitening, groups * (groups + 1u) * 2u * sizeof(uint64_t)) &&
           equal_bytes(a->whitening_shift, b->whitening_shift, 4u * groups) &&
           equal_bytes(a->means, b->means, 4u * groups * a->mean_count * sizeof(int16_t));
}

/* ---- the loop ---- */

static void observe(group *all, device_rows at, size_t steps, tcuq_signals *signals)
{
    const tcuq_monitor *monitor = &all->members[0].of->monitor;
    for (size_t i = 0u; i < steps; i++) {
        const int8_t *row = tcuq_signals_run_core(monitor, at.posterior, at.features, &signals[i]);
        for (size_t k = 0u; k < all->count; k++) {
            if (all->members[k].novelty == k) {
                const tcuq_profile *own = &all->members[k].of->profile;
                all->members[k].novelties_q10[i] = (own->whitening == NULL) ? 0 : tcuq_novelty_run(own, row);
            }
        }
        rows_advance(monitor->profile, 1u, &at);
    }
}

static void count_alarm(int64_t *counts, uint8_t alarm)
{
    counts[ALARMS]++;
    for (int channel = 0; channel < (int)TCUQ_MAX_CHANNELS; channel++) {
        counts[CHANNELS + channel] += (alarm >> channel) & 1;
    }
    if (counts[FIRST_ALARM] == 0) {
        counts[FIRST_ALARM] = counts[STEPS] + 1;
    }
}

/* 0 without an alarm; else its channel from 1 on, and 8 more if the stream differs since boot. */
static int alarm_number(uint8_t alarm)
{
    int number = ((alarm & TCUQ_ALARM_SINCE_BOOT) != 0u) ? 8 : 0;
    for (int bits = alarm & (TCUQ_ALARM_SINCE_BOOT - 1); bits != 0; bits >>= 1) {
        number++;
    }
    return number;
}

static void count_label(int64_t *counts, const tcuq_decision *d, int32_t label)
{
    if (label >= 0) {
        const int64_t abstained = (d->outcome == (uint8_t)TCUQ_ABSTAIN) ? 1 : 0;
        const int64_t wrong = (label != (int32_t)d->label) ? 1 : 0;
        counts[LABELLED]++;
        counts[LABELLED_ABSTAINED] += abstained;
        counts[WRONG] += wrong;
        counts[WRONG_ABSTAINED] += wrong & abstained;
    }
}

/* Does what tcuq_step does after the signals that profiles share. */
static void decide(member *one, const member *all, const int16_t *health, tcuq_signals *signals,
                   size_t steps, const int32_t *labels)
{
    const tcuq_monitor *monitor = &one->of->monitor;
    const int16_t *novelty = all[one->novelty].novelties_q10;
    int64_t *counts = one->counts;
    for (size_t i = 0u; i < steps; i++) {
        tcuq_decision d;
        tcuq_signals *step = &signals[i];
        step->novelty_q10 = novelty[i];
        tcuq_signals_health(monitor->profile, health, step);
        tcuq_alarm_note(monitor, health, step);
        health = (health == NULL) ? NULL : health + monitor->profile->health_count;
        d.label = step->label;
        tcuq_score_run(monitor, step, &d);
        tcuq_threshold_run(monitor, &d);
        tcuq_budget_run(monitor, &d);
        tcuq_alarm_run(monitor, step, &d);
        tcuq_telemetry_count(monitor, step, &d);
        if (d.alarm != 0u) {
            count_alarm(counts, d.alarm);
        }
        counts[STEPS]++;
        counts[EXCEEDED] += d.exceeded;
        counts[ABSTAINED] += (d.outcome == (uint8_t)TCUQ_ABSTAIN) ? 1 : 0;
        counts[DENIED] += (d.outcome == (uint8_t)TCUQ_DENIED) ? 1 : 0;
        counts[HISTOGRAM + ((d.risk >= TCUQ_RISK_LEVELS) ? 15 : (d.risk >> 10))]++;
        if (labels != NULL) {
            count_label(counts, &d, labels[i]);
        }
        if (one->decisions != NULL) {
            *one->decisions = (uint8_t)(d.outcome | (d.exceeded << 2) | (alarm_number(d.alarm) << 4));
            one->decisions++;
        }
    }
}

static void replay_block(engine *self, device_rows at, Py_ssize_t begun, Py_ssize_t steps,
                         void *const *out)
{
    group *all = out[0];
    const size_t left = (size_t)steps;
    (void)begun;
    tcuq_signals signals[SIGNAL_STEPS];
    for (size_t begin = 0u; begin < left; begin += SIGNAL_STEPS) {
        const size_t count = (left - begin < SIGNAL_STEPS) ? left - begin : SIGNAL_STEPS;
        observe(all, at, count, signals);
        for (size_t k = 0u; k < all->count; k++) {
            decide(&all->members[k], all->members, at.health, signals, count, all->labels);
        }
        rows_advance(&self->profile, count, &at);
        all->labels = (all->labels == NULL) ? NULL : all->labels + count;
    }
}

/* Copies the first engine's past to all others. */
static void copy_past(const group *all)
{
    const tcuq_monitor *from = &all->members[0].of->monitor;
    const size_t past = from->profile->lags[from->profile->lag_count - 1u];
    for (size_t k = 1u; k < all->count; k++) {
        const tcuq_monitor *to = &all->members[k].of->monitor;
        to->core->next = from->core->next;
        to->core->filled = from->core->filled;
        for (size_t i = 0u; i < 2u; i++) {
            to->core->kept[i] = from->core->kept[i];
            to->core->held_q15[i] = from->core->held_q15[i];
        }
        memcpy(to->slots, from->slots, past * sizeof(tcuq_slot));
        memcpy(to->posteriors, from->posteriors, past * from->profile->classes);
        if (from->features != NULL) {
            memcpy(to->features, from->features, past * from->profile->dimensions);
        }
    }
}

static Py_ssize_t replay_all(group *all, const inputs *in)
{
    void *const out[] = {all};
    const Py_ssize_t done = consume(all->members[0].of, in, replay_block, out);
    copy_past(all);
    return done;
}

/* ---- arguments from Python ---- */

/* Gets a buffer of exactly `items` items; null for None. */
static int take_items(PyObject *value, const char *name, int flags, size_t items, size_t size,
                      Py_buffer *view)
{
    if ((value != Py_None) && (view_of(value, "", name, flags, view) < 0)) {
        return -1;
    }
    if ((view->buf == NULL) ||
        (((size_t)view->len == items * size) && ((uintptr_t)view->buf % size == 0u))) {
        return 0;
    }
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes, not %zu x %zu, aligned", name, view->len, items, size);
    return -1;
}

/* Collects and takes the engines of a call; on an error, -1 and none is taken. */
static int gather(group *all, PyObject *self, PyObject *others)
{
    for (size_t k = 0u; k < all->count; k++) {
        PyObject *one = (k == 0u) ? self : PyTuple_GetItem(others, (Py_ssize_t)k - 1);
        engine *of = (engine *)one;
        if (Py_TYPE(one) != Py_TYPE(self)) {
            PyErr_Format(PyExc_TypeError, "others[%zu]: not an Engine", k - 1u);
        } else if (engine_take(of)) {
            if (same_signals((engine *)self, of)) {
                member *added = &all->members[k];
                added->of = of;
                while (!same_novelty(&all->members[added->novelty].of->profile, &of->profile)) {
                    added->novelty++;
                }
                continue;
            }
            engine_release(of);
            PyErr_Format(PyExc_ValueError, "others[%zu]: sees other signals", k - 1u);
        }
        while (k > 0u) {
            k--;
            engine_release(all->members[k].of);
        }
        return -1;
    }
    return 0;
}

static PyObject *replay_into(group *all, PyObject *const *args, PyObject *self, const inputs *in)
{
    const size_t steps = (size_t)in->steps;
    const size_t cells = all->count * (size_t)COUNTS;
    Py_buffer views[3] = {{0}, {0}, {0}};
    PyObject *done = NULL;
    if ((take_items(args[4], "labels", PyBUF_SIMPLE, steps, sizeof(int32_t), &views[0]) == 0) &&
        (take_items(args[5], "counts", PyBUF_WRITABLE, cells, sizeof(int64_t), &views[1]) == 0) &&
        (take_items(args[6], "decisions", PyBUF_WRITABLE, all->count * steps, 1u, &views[2]) == 0)) {
        if (views[1].buf == NULL) {
            PyErr_SetString(PyExc_ValueError, "counts: None");
        } else if (gather(all, self, args[0]) == 0) {
            uint8_t *decisions = views[2].buf;
            all->labels = views[0].buf;
            for (size_t k = 0u; k < all->count; k++) {
                all->members[k].counts = (int64_t *)views[1].buf + k * (size_t)COUNTS;
                all->members[k].decisions = (decisions == NULL) ? NULL : decisions + k * steps;
            }
            done = PyLong_FromSsize_t(replay_all(all, in));
            for (size_t k = 0u; k < all->count; k++) {
                engine_release(all->members[k].of);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        PyBuffer_Release(&views[i]);
    }
    return done;
}

PyObject *engine_replay(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    group all = {NULL, 0u, NULL};
    inputs in;
    if ((count != 7) || !PyTuple_Check(args[0])) {
        return PyErr_Format(PyExc_TypeError, "expected a tuple and six more arguments, got %zd", count);
    }
    if (inputs_needed((engine *)self, &args[1], &in) < 0) {
        return NULL;
    }
    PyObject *done = NULL;
    all.count = 1u + (size_t)PyTuple_Size(args[0]);
    all.members = PyMem_Calloc(all.count, sizeof(member));
    if (all.members == NULL) {
        (void)PyErr_NoMemory();
    } else {
        done = replay_into(&all, args, self, &in);
    }
    PyMem_Free(all.members);
    inputs_release(&in);
    return done;
}
