/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime and the engine call of the C library, which wasm32 has not. */
#ifndef STRING_H
#define STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

#endif
