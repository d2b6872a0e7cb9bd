/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a profile that keeps every rule, but for up to three values of it bent to anything. */
#include <string.h>

#include "decode.h"

#define MOST_DRAWN 4096u /* items; a longer table repeats them */

static void bend_table(const subject *made, int bent, size_t count, size_t item, void *table)
{
    for (uint8_t i = 0u; i < made->bend_count; i++) {
        const bend *by = &made->bends[i];
        for (size_t at = 0u; (by->which == bent) && (at < count); at++) {
            if ((by->index == EVERY) || (by->index % count == at)) {
                memcpy((uint8_t *)table + at * item, &by->raw, item);
            }
        }
    }
}

/* A table of count integers from a series, with the elements that bends name bent. */
static const void *table(subject *made, int pointer, int bent, size_t count, size_t item, series from)
{
    uint8_t *to = block(made, count, item);
    if (count * item <= MOST_BYTES) {
        for (size_t i = 0u; (i < count) && (i < MOST_DRAWN); i++) {
            const int32_t value = next_of(&from);
            memcpy(&to[i * item], &value, item); /* little-endian: the fuzzer's host is */
        }
        for (size_t i = MOST_DRAWN; i < count; i++) {
            memcpy(&to[i * item], &to[(i - MOST_DRAWN) * item], item);
        }
        bend_table(made, bent, count, item, to);
    }
    return ((pointer != P_NONE) && (made->null == pointer)) ? NULL : to;
}

static void bend_profile(tcuq_profile *p, const bend *by)
{
    const uint32_t raw = by->raw;
    switch (by->which) {
        BEND(0, p->format, uint32_t);
        BEND(1, p->classes, uint16_t);
        BEND(2, p->width, uint16_t);
        BEND(3, p->dimensions, uint8_t);
        BEND(4, p->lag_count, uint8_t);
        BEND(5, p->lags[by->index % TCUQ_MAX_LAGS], uint8_t);
        BEND(6, p->blend_q15, uint16_t);
        BEND(7, p->mix_q15, uint16_t);
        BEND(8, p->projection_shift, uint8_t);
        BEND(9, p->mean_count, uint16_t);
        BEND(10, p->novelty_exponent, uint8_t);
        BEND(11, p->term_count, uint8_t);
        BEND(12, p->weight_shift, uint8_t);
        BEND(13, p->bias_q16, int32_t);
        BEND(14, p->alpha_q16, uint16_t);
        BEND(15, p->step, uint16_t);
        BEND(16, p->start, uint16_t);
        BEND(17, p->anchor, uint16_t);
        BEND(18, p->rate_q16, uint32_t);
        BEND(19, p->burst_q16, uint32_t);
        BEND(20, p->channel_count, uint8_t);
        BEND(21, p->health_count, uint8_t);
        BEND(22, p->alarm_limit, uint32_t);
        BEND(23, p->epoch_steps, uint32_t);
        BEND(24, p->stay_q8, uint16_t);
        BEND(25, p->rest_q8, uint16_t);
        BEND(26, p->change_q8, uint16_t);
        BEND(27, p->error_bias_q16, int32_t);
        BEND(28, p->withhold_denied, uint8_t);
    default:
        break;
    }
}

static void take_inputs(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    const bool large = (made->shape & LARGE) != 0;
    const int32_t classes = take_in(in, 2, large ? (int32_t)TCUQ_MAX_CLASSES : 16);
    const uint8_t dimensions = take8(in);
    const int32_t width = take_in(in, 1, large ? (int32_t)TCUQ_MAX_WIDTH : 256);
    p->classes = (uint16_t)classes;
    if (made->shape & FEATURES) {
        p->dimensions = (uint8_t)(1u + dimensions % TCUQ_MAX_DIMENSIONS);
        p->width = (made->shape & PROJECTED) ? (uint16_t)width : p->dimensions;
        if (!(made->shape & PROJECTED) && (width & 1)) {
            p->width = (uint16_t)(p->width + width % 97);
            made->last_selected = (uint8_t)(p->width - 1u);
        }
    } else {
        made->shape &= (uint8_t)~(PROJECTED | NOVEL);
    }
    p->lag_count = (uint8_t)(1u + take8(in) % TCUQ_MAX_LAGS);
    uint32_t lag = 0u;
    for (uint32_t i = 0u; i < TCUQ_MAX_LAGS; i++) {
        lag += 1u + take8(in) % (TCUQ_MAX_LAG - lag - (TCUQ_MAX_LAGS - 1u - i));
        p->lags[i] = (uint8_t)lag;
    }
    const int32_t blend = take_in(in, 0, 40959); /* one in five has outputs */
    const int32_t stay = take_in(in, 0, 25600);
    const bool outputs = (blend > 32768) && TCUQ_WITH_OUTPUTS;
    p->blend_q15 = outputs ? UINT16_MAX : (uint16_t)(blend % 32769);
    p->stay_q8 = (made->shape & ANCHORED) ? (uint16_t)stay : 0u;
    if (outputs) {
        p->classes = (uint16_t)(1 + classes % 8);
    }
    p->rest_q8 = (uint16_t)take_in(in, 0, 768);
    p->change_q8 = (uint16_t)take_in(in, 1, 256);
    p->projection_shift = (uint8_t)(take8(in) % 31u);
    if (made->shape & NOVEL) {
        p->mean_count = (uint16_t)(2 * take_in(in, 1, large ? 4096 : 6));
        p->novelty_exponent = (uint8_t)(take8(in) % 25u);
    }
    p->health_count = (uint8_t)(take8(in) % (TCUQ_MAX_HEALTH + 1u));
}

static void take_decisions(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    p->mix_q15 = (uint16_t)take_in(in, 0, 32768);
    const uint32_t shift = take8(in) % 13u;
    p->weight_shift = (uint8_t)((shift != 12u) ? 5u + shift : (made->shape & ANCHORED) ? 0u : 5u);
    for (uint32_t i = 0u; i < 4u; i++) {
        p->weights[i] = (int16_t)take_in(in, INT16_MIN, INT16_MAX);
    }
    p->bias_q16 = take_in(in, -(1 << 29), 1 << 29);
    p->error_bias_q16 = take_in(in, -(1 << 29), 1 << 29);
    p->novelty_limit_q10 = (uint16_t)take_in(in, 0, 65535);
    p->withhold_denied = (uint8_t)(take8(in) & 1u);
    p->adaptive = take8(in);
    p->alpha_q16 = (uint16_t)take_in(in, 1, 65535);
    p->step = (uint16_t)take_in(in, 1, (int32_t)TCUQ_MAX_STEP);
    p->start = (uint16_t)take_in(in, 0, (int32_t)TCUQ_RISK_LEVELS);
    p->anchor = (uint16_t)take_in(in, 0, (int32_t)TCUQ_RISK_LEVELS);
    p->warmup = take32(in);
    p->rate_q16 = (uint32_t)take_in(in, 0, (int32_t)TCUQ_TOKEN);
    p->burst_q16 = (uint32_t)take_in(in, 0, INT32_MAX);
    p->term_count = (made->shape & ANCHORED) ? (uint8_t)(1u + take8(in) % TCUQ_MAX_TERMS) : 0u;
    if (made->shape & ALARMED) {
        p->channel_count = (uint8_t)(1u + take8(in) % TCUQ_MAX_CHANNELS);
        p->alarm_limit = (uint32_t)take_in(in, 1, (int32_t)TCUQ_MAX_ALARM_LIMIT);
        p->epoch_steps = (uint32_t)take_in(in, 1, INT32_MAX);
    }
}

/* Rows of weights, each with a sum of at most 2^15. */
static const uint16_t *make_weights(subject *made, bytes *in)
{
    const uint32_t rows = made->profile.lag_count;
    uint16_t *to = block(made, rows * (rows + 1u) / 2u, sizeof *to);
    series share = take_series(in, 0, 32768);
    for (uint32_t row = 1u, at = 0u; row <= rows; row++) {
        uint32_t left = 32768u;
        for (uint32_t i = 0u; i < row; i++, at++) {
            const uint32_t weight = (i + 1u == row) ? left : (uint32_t)next_of(&share) % (left + 1u);
            to[at] = (uint16_t)weight;
            left -= weight;
        }
    }
    bend_table(made, TABLES, rows * (rows + 1u) / 2u, sizeof *to, to);
    return (made->null == P_WEIGHTS) ? NULL : to;
}

/* Weights -63..63, packed as docs/spec/arithmetic.md says: halves of words, the lower with 64 added. */
static const uint64_t *make_whitening(subject *made, bytes *in)
{
    const size_t groups = ((size_t)made->profile.dimensions + 3u) / 4u;
    const size_t words = 4u * groups * (groups + 1u);
    uint32_t *to = block(made, words, sizeof *to);
    series weights = take_series(in, -63, 63);
    for (size_t i = 0u; i < words; i++) {
        const uint32_t lower = 64u + (uint32_t)next_of(&weights);
        to[i] = lower + ((uint32_t)next_of(&weights) << 16);
    }
    return (made->null == P_WHITENING) ? NULL : (const uint64_t *)(const void *)to;
}

/* Means and, unless bent, their true squared lengths. */
static void make_means(subject *made, bytes *in, size_t rows)
{
    tcuq_profile *p = &made->profile;
    const size_t count = p->mean_count * rows;
    const series values = take_series(in, -4096, 4095);
    const int16_t *means = table(made, P_NONE, TABLES + 3, count, sizeof *means, values);
    int32_t *squares = block(made, p->mean_count, sizeof *squares);
    for (size_t k = 0u; (k < p->mean_count) && (count * sizeof *means <= MOST_BYTES); k++) {
        uint32_t square = 0u;
        for (size_t i = 0u; i < rows; i++) {
            square += (uint32_t)(means[k * rows + i] * means[k * rows + i]);
        }
        squares[k] = (int32_t)square;
    }
    bend_table(made, TABLES + 6, p->mean_count, sizeof *squares, squares);
    p->means = (made->null == P_MEANS) ? NULL : means;
    p->mean_squares = (made->null == P_SQUARES) ? NULL : squares;
}

static void make_novelty(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    const size_t rows = ((size_t)p->dimensions + 3u) / 4u * 4u;
    p->whitening = make_whitening(made, in);
    p->whitening_shift = table(made, P_SHIFTS, TABLES + 2, rows, 1u, take_series(in, 0, 30));
    make_means(made, in, rows);
}

static void make_tables(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    const size_t dims = p->dimensions;
    p->lag_weights_q15 = make_weights(made, in);
    if (made->shape & PROJECTED) {
        p->projection = table(made, P_PROJECTION, -1, dims * p->width, 1u, take_series(in, -128, 127));
        p->projection_bias = table(made, P_BIAS, TABLES + 1, dims, sizeof *p->projection_bias,
                                   take_series(in, -(1 << 29), 1 << 29));
    }
    if (made->last_selected != 0u) {
        p->selection = table(made, P_PROJECTION, TABLES + 7, dims, 1u, take_series(in, 0, made->last_selected));
    }
    if (made->shape & NOVEL) {
        make_novelty(made, in);
    }
    if (p->health_count != 0u) {
        p->health_means = table(made, P_HEALTH_MEANS, -1, p->health_count, sizeof *p->health_means,
                                take_series(in, INT16_MIN, INT16_MAX));
        p->health_weights_q9 = table(made, P_HEALTH_WEIGHTS, -1, p->health_count,
                                     sizeof *p->health_weights_q9, take_series(in, 0, UINT16_MAX));
    }
}

/* Bounds are mostly powers of two: half of all bends go near one. */
static bend take_bend(bytes *in)
{
    const uint8_t which = take8(in);
    const uint16_t index = take16(in);
    const uint32_t raw = take32(in);
    const uint32_t near = (1u << (raw % 32u)) + (uint32_t)(int8_t)(raw >> 8);
    bend made = {(uint8_t)(which & 127u), index, raw};
    if (which > 127u) {
        made.raw = (raw & 0x10000u) ? 0u - near : near;
    }
    return made;
}

void make_subject(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    memset(made, 0, sizeof *made);
    made->shape = take8(in);
    made->bend_count = (uint8_t)(take8(in) % (MOST_BENDS + 1u));
    made->null = (uint8_t)(take8(in) % POINTERS);
    for (uint8_t i = 0u; i < made->bend_count; i++) {
        made->bends[i] = take_bend(in);
    }
    p->format = TCUQ_PROFILE_FORMAT;
    p->hash = take32(in);
    take_inputs(made, in);
    take_decisions(made, in);
    for (uint8_t i = 0u; i < made->bend_count; i++) {
        bend_profile(p, &made->bends[i]);
    }
    make_tables(made, in);
    if (made->shape & ANCHORED) {
        make_terms(made, in);
    }
    if (made->shape & ALARMED) {
        make_channels(made, in);
    }
    made->sound = (made->bend_count == 0u) && (made->null == P_NONE);
    made->classes = p->classes;
    made->width = p->width;
    made->health = p->health_count;
    made->cost = 64u + p->health_count + p->classes * (p->lag_count + 1u) + (uint32_t)p->mean_count * p->dimensions;
    made->cost += (uint32_t)p->dimensions * (p->dimensions + p->lag_count + (p->projection ? p->width : 0u));
    made->hash = p->hash;
    made->rate_q16 = p->rate_q16;
    made->burst_q16 = p->burst_q16;
    made->telemetry = ((made->shape & TELEMETRY) != 0) && (made->null != M_TELEMETRY);
    made->no_monitor = made->null == M_MONITOR;
}
