/* SPDX-License-Identifier: Apache-2.0 */
/* A step's numbers to the device's bytes (docs/spec/arithmetic.md, "Inputs"), by chunks that stay in the
 * first cache and loops that compilers turn into vectors. Refuses what tcuq.stages.inputs refuses; which rule
 * was broken, and where, is said there. Built as finite arithmetic: what is not finite is refused first. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "quantize.h"
#include "tcuq.h"

#if FLT_EVAL_METHOD != 0
#error "doubles must be computed as doubles: on 32-bit x86, -msse2 -mfpmath=sse"
#endif

#define PAIRWISE 128u /* addends */
#define CHUNK 1024u    /* numbers: at least TCUQ_MAX_CLASSES */

/* 1.5 * 2^52. Beside it no bit is left after the point: adding it rounds, ties to even, |value| < 2^51. */
#define ROUNDER 6755399441055744.0

static inline double nearest(double value)
{
    return (value + ROUNDER) - ROUNDER;
}

static inline double at_most(double value, double limit)
{
    return (value < limit) ? value : limit;
}

static inline double at_least(double value, double limit)
{
    return (value > limit) ? value : limit;
}

/* Whether every |number| <= limit and none is NaN: sizes are in the order of their bits, and the top bit of a
 * difference tells which is larger. No loop below gets other numbers. */
static bool floats_within(const float *numbers, size_t count, float limit)
{
    uint32_t most;
    uint32_t bits;
    uint32_t wild = 0u;
    memcpy(&most, &limit, sizeof most);
    for (size_t i = 0u; i < count; i++) {
        memcpy(&bits, &numbers[i], sizeof bits);
        wild |= most - (bits & (UINT32_MAX >> 1));
    }
    return (wild >> 31) == 0u;
}

static bool doubles_within(const double *numbers, size_t count, double limit)
{
    uint64_t most;
    uint64_t bits;
    uint64_t wild = 0u;
    memcpy(&most, &limit, sizeof most);
    for (size_t i = 0u; i < count; i++) {
        memcpy(&bits, &numbers[i], sizeof bits);
        wild |= most - (bits & (UINT64_MAX >> 1));
    }
    return (wild >> 63) == 0u;
}

static bool all_within(const void *from, item as, size_t count, double limit)
{
    return (as == ITEM_FLOAT) ? floats_within(from, count, (float)limit)
                              : doubles_within(from, count, limit);
}

/* Compilers split a loop over it into one per type. */
static inline double number(const void *from, item as, size_t i)
{
    return (as == ITEM_FLOAT) ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

/* In NumPy's order: a sum at the limit of its rule then equals the one in tcuq.stages.inputs. */
static double sum_of(const double *row, size_t count)
{
    double part[8] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    size_t i = 0u;
    if (count > PAIRWISE) {
        const size_t half = (count / 2u) & ~(size_t)7u;
        return sum_of(row, half) + sum_of(&row[half], count - half);
    }
    for (; (i + 8u) <= count; i += 8u) {
        for (size_t k = 0u; k < 8u; k++) {
            part[k] += row[i + k];
        }
    }
    double sum = (part[0] + part[1]) + (part[2] + part[3]);
    sum += (part[4] + part[5]) + (part[6] + part[7]);
    for (; i < count; i++) {
        sum += row[i];
    }
    return sum;
}

/* e^x for x <= 0 within 2 units in the last place: 2^k times a series of the rest; below -700 as at -700. */
static inline double power(double x)
{
    static const double series[] = {
        0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26, 0x1.27e4fb7789f5cp-22,
        0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10,
        0x1.1111111111111p-7,  0x1.5555555555555p-5,  0x1.5555555555555p-3,  0.5, 1.0, 1.0,
    }; /* 1 / 13! to 1 / 0! */
    x = at_least(x, -700.0);
    const double rounded = x * 1.4426950408889634 + ROUNDER; /* its last bits are k */
    const double twos = rounded - ROUNDER;
    const double rest = (x - twos * 0x1.62e42feep-1) - twos * 0x1.a39ef35793c76p-33;
    double sum = series[0];
    for (size_t i = 1u; i < 14u; i++) {
        sum = sum * rest + series[i];
    }
    uint64_t bits;
    double scale;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits << 52) + ((uint64_t)1023u << 52);
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

/* Turns logits into numbers in proportion to their probabilities. */
static void powers(double *row, size_t count)
{
    double most = row[0];
    for (size_t i = 0u; i < count; i++) {
        most = at_least(row[i], most);
    }
    for (size_t i = 0u; i < count; i++) {
        row[i] = power(row[i] - most);
    }
}

/* Turns a row of logits into probabilities, in place. */
static void normalise(double *row, size_t count)
{
    powers(row, count);
    const double sum = sum_of(row, count);
    for (size_t i = 0u; i < count; i++) {
        row[i] /= sum;
    }
}

/* Whether a row of probabilities has none below 0 and a sum that is near enough to 1. */
static bool are_probabilities(const double *row, size_t count, double sum_tolerance)
{
    double least = 0.0;
    for (size_t i = 0u; i < count; i++) {
        least = at_most(row[i], least);
    }
    return (least >= 0.0) && (fabs(sum_of(row, count) - 1.0) <= sum_tolerance);
}

bool quantize_posteriors(const quantizer *how, const void *from, item as, size_t classes, size_t rows,
                         uint8_t *restrict to)
{
    double chunk[CHUNK];
    const size_t count = rows * classes;
    const size_t most = CHUNK - CHUNK % classes; /* whole rows */
    if (!all_within(from, as, count, how->max_magnitude)) {
        return false;
    }
    for (size_t begin = 0u; begin < count; begin += most) {
        const size_t here = (count - begin < most) ? count - begin : most;
        for (size_t i = 0u; i < here; i++) {
            chunk[i] = number(from, as, begin + i);
        }
        for (size_t row = 0u; row < here; row += classes) {
            if (how->logits != 0u) {
                normalise(&chunk[row], classes);
            } else if (!are_probabilities(&chunk[row], classes, how->sum_tolerance)) {
                return false;
            }
        }
        for (size_t i = 0u; i < here; i++) {
            to[begin + i] = (uint8_t)(int32_t)nearest(at_most(chunk[i] * 256.0, 255.0));
        }
    }
    return true;
}

bool quantize_outputs(const quantizer *how, const void *from, item as, size_t outputs, size_t rows,
                      uint8_t *restrict to)
{
    if (!all_within(from, as, rows * outputs, how->max_magnitude)) {
        return false;
    }
    for (size_t i = 0u; i < rows * outputs; i++) {
        const size_t which = i % outputs;
        const double steps = (number(from, as, i) - how->output_centres[which]) / how->output_scales[which];
        to[i] = (uint8_t)(int32_t)nearest(at_least(at_most(steps, 127.0), -127.0));
    }
    return true;
}

bool quantize_features(const quantizer *how, const void *from, item as, size_t count,
                       int8_t *restrict to)
{
    const double scale = how->feature_scale;
    if (!all_within(from, as, count, how->max_magnitude)) {
        return false;
    }
    for (size_t i = 0u; i < count; i++) {
        const double steps = at_least(at_most(number(from, as, i) / scale, 127.0), -127.0);
        to[i] = (int8_t)(int32_t)nearest(steps);
    }
    return true;
}
