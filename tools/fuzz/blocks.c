/* SPDX-License-Identifier: Apache-2.0 */
/* Heap blocks of exactly the size asked for, so that the sanitizer reports one byte too far. */
#include "blocks.h"

#include <stdlib.h>

void *block(subject *made, size_t count, size_t item)
{
    const size_t wanted = count * item;
    void *got = malloc((wanted > MOST_BYTES) ? 0u : wanted);
    if (made->block_count == MOST_BLOCKS) {
        abort();
    }
    made->blocks[made->block_count++] = got;
    return got;
}

void free_subject(subject *made)
{
    for (uint32_t i = 0u; i < made->block_count; i++) {
        free(made->blocks[i]);
    }
}
