/* SPDX-License-Identifier: Apache-2.0 */
/* Terms of the score and channels of the alarm, as decode_profile.c makes the rest. */
#include <string.h>

#include "decode.h"

static void bend_term(tcuq_term *t, const bend *by)
{
    const uint32_t raw = by->raw;
    switch (by->which) {
        BEND(TERMS, t->signal, uint8_t);
        BEND(TERMS + 1, t->ewma, uint8_t);
        BEND(TERMS + 2, t->point_count, uint8_t);
        BEND(TERMS + 3, t->cap_q10, uint16_t);
        BEND(TERMS + 4, t->weight_q8, uint16_t);
        BEND(TERMS + 5, t->novelty_q8, uint16_t);
        BEND(TERMS + 6, t->error_q8, uint16_t);
        BEND(TERMS + 7, t->start_q10, uint16_t);
    default:
        break;
    }
}

static void bend_channel(tcuq_channel *c, const bend *by)
{
    const uint32_t raw = by->raw;
    switch (by->which) {
        BEND(CHANNELS, c->signal, uint8_t);
        BEND(CHANNELS + 1, c->block, uint16_t);
        BEND(CHANNELS + 2, c->boot_limit_q8, uint16_t);
        BEND(CHANNELS + 3, c->centre, int32_t);
        BEND(CHANNELS + 4, c->edges[by->index % 3u], int32_t);
        BEND(CHANNELS + 5, c->counts[by->index % TCUQ_COUNTS], uint16_t);
    default:
        break;
    }
}

/* One of the first signals that the profile gives. */
static uint8_t take_signal(const subject *made, bytes *in, uint32_t of)
{
    const uint8_t signal = (uint8_t)(take8(in) % of);
    const bool given = (signal == (uint8_t)TCUQ_NOVELTY)       ? (made->shape & NOVEL) != 0
                       : (signal == (uint8_t)TCUQ_INSTABILITY) ? (made->shape & FEATURES) != 0
                       : (signal == (uint8_t)TCUQ_HEALTH)      ? made->profile.health_count != 0u
                       : (signal == (uint8_t)TCUQ_CONTRADICTION) ? made->profile.stay_q8 != 0u
                                                                 : true;
    return given ? signal : (uint8_t)TCUQ_LOW_CONFIDENCE;
}

/* Ascending points and bits that never fall. */
static void make_curve(subject *made, tcuq_term *t, bytes *in)
{
    const uint32_t count = t->point_count;
    int16_t *points = block(made, count, sizeof *points);
    uint16_t *bits = block(made, count, sizeof *bits);
    series gaps = take_series(in, 0, 65535);
    series rises = take_series(in, 0, 65535);
    int32_t point = (int32_t)(take16(in) % (65536u - count)) - 32768;
    uint32_t bit = 0u;
    for (uint32_t i = 0u; i < count; i++) {
        const int32_t room = 32767 - point - (int32_t)(count - 1u - i);
        const int32_t gap = next_of(&gaps);
        point += (gap < room) ? gap : room;
        bit += (uint32_t)next_of(&rises) % (65536u - bit);
        points[i] = (int16_t)point++;
        bits[i] = (uint16_t)bit;
    }
    for (uint8_t i = 0u; (i < made->bend_count) && (count != 0u); i++) {
        const bend *by = &made->bends[i];
        if (by->which == TABLES + 4) {
            points[by->index % count] = (int16_t)by->raw;
        } else if (by->which == TABLES + 5) {
            bits[by->index % count] = (uint16_t)by->raw;
        }
    }
    t->points = (made->null == P_POINTS) ? NULL : points;
    t->bits_q10 = (made->null == P_BITS) ? NULL : bits;
}

/* Equal tables are one, as in an exported profile. */
static void share_curve(tcuq_term *t, const tcuq_term *before)
{
    const size_t count = t->point_count;
    if ((t->points != NULL) && (t->bits_q10 != NULL) && (before->points != NULL) && (before->bits_q10 != NULL) &&
        (before->point_count == t->point_count) && (memcmp(t->points, before->points, count * sizeof *t->points) == 0) &&
        (memcmp(t->bits_q10, before->bits_q10, count * sizeof *t->bits_q10) == 0)) {
        t->points = before->points;
        t->bits_q10 = before->bits_q10;
    }
}

void make_terms(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    tcuq_term *terms = block(made, p->term_count, sizeof *terms);
    memset(terms, 0, p->term_count * sizeof *terms);
    for (uint32_t i = 0u; i < p->term_count; i++) {
        tcuq_term *t = &terms[i];
        if (i >= TCUQ_MAX_TERMS) {
            *t = terms[0]; /* too many, but sound */
            continue;
        }
        t->signal = take_signal(made, in, TCUQ_SIGNALS);
        t->reserved = take8(in);
        t->ewma = (uint8_t)(take8(in) % 11u);
        t->point_count = (uint8_t)(1u + take8(in) % TCUQ_MAX_POINTS);
        t->dead_q10 = (uint16_t)take_in(in, 0, 65535);
        t->cap_q10 = (uint16_t)take_in(in, 0, 16384);
        t->weight_q8 = (uint16_t)take_in(in, 0, 16384);
        t->error_q8 = (uint16_t)take_in(in, 0, 16384);
        t->novelty_q8 = (uint16_t)take_in(in, 0, 256);
        t->slope_q8 = (uint16_t)take_in(in, 0, 65535);
        t->start_q10 = (uint16_t)take_in(in, 0, 16384);
        for (uint8_t b = 0u; b < made->bend_count; b++) {
            if ((made->bends[b].index == EVERY) || (made->bends[b].index % p->term_count == i)) {
                bend_term(t, &made->bends[b]);
            }
        }
        make_curve(made, t, in);
        if (i != 0u) {
            share_curve(t, &terms[i - 1u]);
        }
    }
    p->terms = (made->null == P_TERMS) ? NULL : terms;
}

void make_channels(subject *made, bytes *in)
{
    tcuq_profile *p = &made->profile;
    tcuq_channel *channels = block(made, p->channel_count, sizeof *channels);
    memset(channels, 0, p->channel_count * sizeof *channels);
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        tcuq_channel *c = &channels[i];
        if (i >= TCUQ_MAX_CHANNELS) {
            *c = channels[0];
            continue;
        }
        c->signal = take_signal(made, in, (uint32_t)TCUQ_HEALTH + 1u);
        const bool is_term = (c->signal > TCUQ_INSTABILITY) && (c->signal < TCUQ_RISK);
        c->signal = (is_term && (c->signal != TCUQ_NOVELTY)) ? (uint8_t)TCUQ_RISK : c->signal;
        c->flag = (uint8_t)(1u << (take8(in) % TCUQ_MAX_CHANNELS));
        c->two_sided = take8(in);
        c->block = (uint16_t)(8u << (take8(in) % 11u));
        c->boot_limit_q8 = (uint16_t)take_in(in, 1, 32767);
        c->centre = take_in(in, -(1 << 30), 1 << 30);
        for (uint32_t edge = 0u; edge < 3u; edge++) {
            c->edges[edge] = take_in(in, INT32_MIN, INT32_MAX);
            if ((edge > 0u) && (c->edges[edge] < c->edges[edge - 1u])) {
                c->edges[edge] = c->edges[edge - 1u];
            }
        }
        for (uint32_t gain = 0u; gain < 4u; gain++) {
            c->gains_q8[gain] = (int16_t)take_in(in, INT16_MIN, INT16_MAX);
        }
        for (uint32_t k = 0u; k < TCUQ_COUNTS; k++) {
            c->counts[k] = (uint16_t)take_in(in, 1, 65519);
        }
        for (uint8_t b = 0u; b < made->bend_count; b++) {
            const uint32_t index = made->bends[b].index;
            if ((index == EVERY) || ((index >> 2) % p->channel_count == i)) {
                bend_channel(c, &made->bends[b]);
            }
        }
        made->flags |= c->flag;
    }
    p->channels = (made->null == P_CHANNELS) ? NULL : channels;
}
