/* SPDX-License-Identifier: Apache-2.0 */
/* Logarithms that the specification allows, as ranges. */
#ifndef FUZZ_RANGES_H
#define FUZZ_RANGES_H

#include <math.h>
#include <stdbool.h>

/* A logarithm in 1/256 bit that the runtime may give, from lowest to highest. */
typedef struct {
    double low;
    double high;
} range;

/* The lowest logarithm stands for 0, which a sum may take for 2^-128. */
static inline double least_of(range log_q8)
{
    return (log_q8.low <= -32768.0) ? 0.0 : exp2(log_q8.low / 256.0);
}

static inline double most_of(range log_q8)
{
    return exp2(log_q8.high / 256.0);
}

static inline double log_of(double value)
{
    return (value <= 0.0) ? -32768.0 : fmin(32767.0, fmax(-32768.0, 256.0 * log2(value)));
}

static inline bool holds(range of, double value)
{
    return (of.low - 1.0 <= value) && (value <= of.high + 1e-6);
}

/* log2 of a sum of powers, rounded down by at most the slack. */
static inline range sum_of(range left, range right, double slack)
{
    const range sum = {log_of(least_of(left) + least_of(right)) - slack,
                       log_of(most_of(left) + most_of(right))};
    return sum;
}

static inline range plus(range of, double more)
{
    const range moved = {fmin(32767.0, fmax(-32768.0, of.low + more)),
                         fmin(32767.0, fmax(-32768.0, of.high + more))};
    return moved;
}

static inline range exactly(double value)
{
    const range only = {value, value};
    return only;
}

#endif
