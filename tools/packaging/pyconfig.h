/* SPDX-License-Identifier: Apache-2.0 */
/* What Python's headers need to know of a 64-bit platform for the limited API; for cross-compilation. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H

#define STDC_HEADERS 1
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_TIME_T 8
#define SIZEOF_PID_T 4
#if defined(_WIN32)
#define MS_WIN64
#define MS_WINDOWS
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED 1
#else
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define HAVE_SSIZE_T 1
#define HAVE_UNISTD_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#endif

#endif
