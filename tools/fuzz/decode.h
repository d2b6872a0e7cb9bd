/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that make a subject share. */
#ifndef FUZZ_DECODE_H
#define FUZZ_DECODE_H

#include "subject.h"

/* Bits of `shape`. Without LARGE, sizes are those of small models: such inputs run faster. */
enum { LARGE = 1, FEATURES = 2, PROJECTED = 4, NOVEL = 8, ANCHORED = 16, ALARMED = 32,
       TELEMETRY = 64, SPARE = 128 }; /* spare: memory the profile does not need is given */

/* Pointers that may be null, by number. */
enum { P_NONE, P_PROFILE, P_WEIGHTS, P_PROJECTION, P_BIAS, P_WHITENING, P_SHIFTS, P_MEANS,
       P_SQUARES, P_HEALTH_MEANS, P_HEALTH_WEIGHTS, P_TERMS, P_POINTS, P_BITS, P_CHANNELS, M_CORE, M_SLOTS, M_POSTERIORS,
       M_FEATURES, M_SMOOTHED, M_CHANNELS, M_TELEMETRY, M_MONITOR, POINTERS };

/* What a bend names: members from 0, tables, members of terms and of channels from these on. */
enum { TABLES = 40, TERMS = 60, CHANNELS = 70 };

#define EVERY 0xFFFFu /* the index that bends every element of a table */

#define BEND(number, member, type) \
    case number:                   \
        (member) = (type)raw;      \
        break

#define MOST_BYTES ((size_t)1 << 22) /* the largest table of a sound profile */

/* A block of exactly count items that the subject owns. One too large for any sound profile is empty: nobody may
 * read it. */
void *block(subject *made, size_t count, size_t item);

/* Whether a term is smoothed, so that memory for it is needed. */
bool smooths(const tcuq_profile *p);

void make_terms(subject *made, bytes *in);
void make_channels(subject *made, bytes *in);

#endif
