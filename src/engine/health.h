/* SPDX-License-Identifier: Apache-2.0 */
/* The module's function on raw samples. */
#ifndef HEALTH_H
#define HEALTH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef health_methods[];

#endif
