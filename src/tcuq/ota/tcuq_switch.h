/* SPDX-License-Identifier: Apache-2.0 */
/* The switch in flash, which tcuq_slots.c reads and writes; no part of the interface. */
#ifndef TCUQ_SWITCH_H
#define TCUQ_SWITCH_H

#include "tcuq_blob_internal.h"
#ifdef __FRAMAC__
#define tcuq_slots tcuq_slots_config /* tcuq_acsl.h has a logic function of this name */
#endif
#include "tcuq_slots.h"

/* The newest whole switch of both pages; without one the built-in profile is active. */
void tcuq_switch_find(const tcuq_slots *slots);

/* Copies the members one by one, which the prover follows. */
void tcuq_switch_copy(tcuq_slots_state *to, const tcuq_slots_state *from);

/* Writes a switch of these values; false, with flash and state as they were, if that failed. */
bool tcuq_switch_write(const tcuq_slots *slots, const tcuq_slots_state *next);

#ifdef __FRAMAC__
#include "tcuq_acsl_slots.h"
#endif

#endif
