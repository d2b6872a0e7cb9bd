/* SPDX-License-Identifier: Apache-2.0 */
/* Heap blocks that a subject owns. */
#ifndef FUZZ_BLOCKS_H
#define FUZZ_BLOCKS_H

#include "subject.h"

#define MOST_BYTES ((size_t)1 << 22) /* the largest table of a sound profile */

/* A block of exactly count items. One too large for any sound profile is empty: nobody may read it. */
void *block(subject *made, size_t count, size_t item);

#endif
