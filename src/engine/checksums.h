/* SPDX-License-Identifier: Apache-2.0 */
/* The module's functions on telemetry records. */
#ifndef CHECKSUMS_H
#define CHECKSUMS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef checksums_methods[];

/* Fills the tables, once, when the module is loaded. */
void checksums_prepare(void);

#endif
