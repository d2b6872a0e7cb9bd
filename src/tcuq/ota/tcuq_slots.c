/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: which blob may run, in which order the checks come, and what comes back if it does not. */
#include "tcuq_switch.h"

/* The lowest number that the firmware and the chip's counter let run. */
static tcuq_status tcuq_slots_least(const tcuq_slots *slots, uint32_t *least)
{
    uint32_t counted = 0u;
    bool known = true;
    if (slots->counter != NULL) {
        //@ calls tcuq_any_count;
        known = slots->counter->read(slots->counter->context, &counted);
    }
    if (!known) {
        return TCUQ_ERROR_BUSY;
    }
    *least = (counted < slots->first_number) ? slots->first_number : counted;
    return TCUQ_OK;
}

/* Whether the blob in a slot is authentic, has a number that may run and is for this firmware. */
static tcuq_status tcuq_slot_check(const tcuq_slots *slots, uint8_t slot)
{
    uint32_t least = 0u;
    bool there = true;
    const tcuq_status status = tcuq_slots_least(slots, &least);
    if (status != TCUQ_OK) {
        return status;
    }
    if (slots->read != NULL) {
        //@ calls tcuq_any_read;
        there = slots->read(slots->read_context, slot);
    }
    if (!there) {
        return TCUQ_ERROR_BUSY;
    }
    return tcuq_blob_verify(&slots->loader, slots->slots[slot], slots->slot_bytes, least);
}

/* Whether a slot may run: the built-in profile, or the very blob that the switch knows. */
static tcuq_status tcuq_slot_permitted(const tcuq_slots *slots, uint8_t slot)
{
    if (slot == TCUQ_SLOTS_BUILT_IN) {
        return TCUQ_OK;
    }
    const tcuq_status status = tcuq_slot_check(slots, slot);
    if (status != TCUQ_OK) {
        return status;
    }
    return (tcuq_blob_number(slots->slots[slot]) == slots->state->numbers[slot]) ? TCUQ_OK
                                                                                 : TCUQ_ERROR_OLD;
}

/* Makes a slot's profile the monitor's; its blob was checked after the last restart. */
static tcuq_status tcuq_slot_load(tcuq_slots *slots, tcuq_monitor *monitor, uint8_t slot)
{
    if (slot == TCUQ_SLOTS_BUILT_IN) {
        *slots->loader.room->profile = *slots->built_in;
        return (tcuq_init(monitor) == TCUQ_OK) ? TCUQ_OK : TCUQ_ERROR_PROFILE;
    }
    const uint8_t *bytes = slots->slots[slot];
    const tcuq_status status = tcuq_blob_fill(&slots->loader, bytes);
    return (status == TCUQ_OK) ? tcuq_blob_selftest(monitor, bytes) : status;
}

static tcuq_status tcuq_slot_run(tcuq_slots *slots, tcuq_monitor *monitor, uint8_t slot)
{
    const tcuq_status status = tcuq_slot_load(slots, monitor, slot);
    if (status == TCUQ_OK) {
        slots->state->running = slot;
    }
    return status;
}

/* Counts a restart of a profile on trial, before it is tried: one that hangs the device is given up too. */
static tcuq_status tcuq_slots_count(const tcuq_slots *slots)
{
    tcuq_slots_state next;
    tcuq_switch_copy(&next, slots->state);
    if (next.left == 0u) {
        return TCUQ_OK;
    }
    next.left--;
    if (next.left == 0u) {
        return TCUQ_ERROR_TRIAL;
    }
    return tcuq_switch_write(slots, &next) ? TCUQ_OK : TCUQ_ERROR_FLASH;
}

/* The active profile is given up: the one before it runs, or the built-in one. */
static void tcuq_slots_fall_back(tcuq_slots *slots, tcuq_monitor *monitor)
{
    tcuq_slots_state next;
    tcuq_switch_copy(&next, slots->state);
    next.active = next.before;
    next.before = TCUQ_SLOTS_BUILT_IN;
    next.left = 0u;
    tcuq_status status = tcuq_slot_permitted(slots, next.active);
    const bool busy = status == TCUQ_ERROR_BUSY;
    if (status == TCUQ_OK) {
        status = tcuq_slot_run(slots, monitor, next.active);
    }
    if (status != TCUQ_OK) {
        next.active = TCUQ_SLOTS_BUILT_IN;
        (void)tcuq_slot_run(slots, monitor, TCUQ_SLOTS_BUILT_IN);
    }
    if (!busy) {
        (void)tcuq_switch_write(slots, &next); /* if it fails, the next restart decides again */
    }
}

tcuq_status tcuq_slots_start(tcuq_slots *slots, tcuq_monitor *monitor)
{
    const tcuq_slots_state *state = slots->state;
    tcuq_switch_find(slots);
    tcuq_status status = tcuq_slot_permitted(slots, state->active);
    if (status == TCUQ_ERROR_BUSY) {
        (void)tcuq_slot_run(slots, monitor, TCUQ_SLOTS_BUILT_IN);
        return status;
    }
    if (status == TCUQ_OK) {
        status = tcuq_slots_count(slots);
    }
    if (status == TCUQ_OK) {
        status = tcuq_slot_run(slots, monitor, state->active);
    }
    if (status != TCUQ_OK) {
        tcuq_slots_fall_back(slots, monitor);
    }
    return status;
}

uint8_t tcuq_slots_spare(const tcuq_slots *slots)
{
    const tcuq_slots_state *state = slots->state;
    if ((state->left != 0u) || ((state->running != state->active) && (state->running != TCUQ_SLOTS_BUILT_IN))) {
        return TCUQ_SLOTS_BUILT_IN;
    }
    return (state->active == 0u) ? 1u : 0u;
}

tcuq_status tcuq_slots_activate(tcuq_slots *slots, tcuq_monitor *monitor)
{
    tcuq_slots_state next;
    tcuq_switch_copy(&next, slots->state);
    const uint8_t spare = tcuq_slots_spare(slots);
    if (spare == TCUQ_SLOTS_BUILT_IN) {
        return TCUQ_ERROR_TRIAL;
    }
    tcuq_status status = tcuq_slot_check(slots, spare);
    if (status == TCUQ_OK) {
        status = tcuq_blob_check_expiry(&slots->loader, slots->slots[spare]);
    }
    const uint32_t number = (status == TCUQ_OK) ? tcuq_blob_number(slots->slots[spare]) : 0u;
    if ((status == TCUQ_OK) && (number <= next.highest)) {
        status = TCUQ_ERROR_OLD;
    }
    if (status != TCUQ_OK) {
        return status; /* nothing has changed */
    }
    next.highest = number;
    next.numbers[spare] = number;
    next.before = next.active;
    next.active = spare;
    next.left = (slots->trial < UINT8_MAX) ? (uint8_t)(slots->trial + 1u) : UINT8_MAX;
    status = tcuq_slot_run(slots, monitor, spare);
    if (status == TCUQ_OK) {
        status = tcuq_switch_write(slots, &next) ? TCUQ_OK : TCUQ_ERROR_FLASH;
    }
    if (status != TCUQ_OK) {
        (void)tcuq_slot_run(slots, monitor, next.running); /* whose blob was checked when it started */
    }
    return status;
}

/* The chip's counter goes up to a number, if it is below. */
static tcuq_status tcuq_slots_raise(const tcuq_slots *slots, uint32_t number)
{
    const tcuq_counter *counter = slots->counter;
    uint32_t counted = number;
    bool done = false;
    //@ calls tcuq_any_count;
    done = counter->read(counter->context, &counted);
    if (done && (counted < number)) {
        //@ calls tcuq_any_raise;
        done = counter->raise(counter->context, number);
    }
    return done ? TCUQ_OK : TCUQ_ERROR_BUSY;
}

tcuq_status tcuq_slots_confirm(tcuq_slots *slots)
{
    tcuq_slots_state next;
    tcuq_switch_copy(&next, slots->state);
    if (next.running != next.active) {
        return TCUQ_ERROR_TRIAL;
    }
    if (next.left != 0u) {
        next.left = 0u;
        if (!tcuq_switch_write(slots, &next)) {
            return TCUQ_ERROR_FLASH;
        }
    }
    if ((slots->counter != NULL) && (next.active != TCUQ_SLOTS_BUILT_IN)) {
        return tcuq_slots_raise(slots, next.numbers[next.active]);
    }
    return TCUQ_OK;
}
