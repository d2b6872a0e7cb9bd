/* SPDX-License-Identifier: Apache-2.0 */
/* The switch in flash, which tcuq_slots.c reads and writes; no part of the interface. */
#ifndef TCUQ_SWITCH_H
#define TCUQ_SWITCH_H

#include "tcuq_slots.h"

/* The newest whole switch of both pages; without one the built-in profile is active. */
void tcuq_switch_find(const tcuq_slots *slots);

/* Writes a switch of these values; false, with flash and state as they were, if that failed. */
bool tcuq_switch_write(const tcuq_slots *slots, const tcuq_slots_state *next);

#ifdef __FRAMAC__
#include "tcuq_acsl_slots.h"
#endif

#endif
