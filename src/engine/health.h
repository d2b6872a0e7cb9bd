/* SPDX-License-Identifier: Apache-2.0 */
/* The module's function on raw samples. */
#ifndef HEALTH_H
#define HEALTH_H

#ifndef Py_LIMITED_API /* CMake defines it too */
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyMethodDef health_methods[];

#endif
