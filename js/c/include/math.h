/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine calls of the C library, which wasm32 has not. */
#ifndef MATH_H
#define MATH_H

#define fabs __builtin_fabs

#endif
