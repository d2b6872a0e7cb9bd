/* SPDX-License-Identifier: Apache-2.0 */
/* A number of a struct, or several in a row: its name in a profile's integers, its place and its type. */
#ifndef FIELD_H
#define FIELD_H

#include <stddef.h>

typedef enum { U8, U16, I16, U32, I32, F64 } kind;

typedef struct {
    const char *name; /* null: the end, and `offset` is the struct's size */
    size_t offset;
    kind kind;
    ptrdiff_t count; /* 0: the number alone */
} field;

#endif
