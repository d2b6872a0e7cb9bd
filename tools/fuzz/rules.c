/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a profile and of its memory, stated a second time, in numbers: tcuq_init must take what
 * keeps them all, and nothing else. Anything it takes in error, a step would have to bear. */
#include "decode.h"

static bool in(int64_t value, int64_t low, int64_t high)
{
    return (low <= value) && (value <= high);
}

static bool has_outputs(const tcuq_profile *p)
{
    return TCUQ_WITH_OUTPUTS && (p->blend_q15 == 65535u);
}

static bool inputs_valid(const tcuq_profile *p)
{
    const bool outputs = has_outputs(p);
    bool valid = in(p->classes, outputs ? 1 : 2, outputs ? 8 : 1000) && in(p->dimensions, 0, 32) &&
                ((p->width == 0u) == (p->dimensions == 0u));
    if (p->selection != NULL) {
        valid = valid && (p->projection == NULL) && (p->dimensions != 0u);
        for (uint32_t i = 0u; valid && (i < p->dimensions); i++) {
            valid = p->selection[i] < p->width;
        }
        return valid;
    }
    if (p->projection == NULL) {
        return valid && (p->width == p->dimensions);
    }
    valid = valid && (p->width != 0u) && (p->projection_bias != NULL) && in(p->projection_shift, 0, 30);
    for (uint32_t row = 0u; valid && (row < p->dimensions); row++) {
        valid = in(p->projection_bias[row], -(1 << 29), 1 << 29);
    }
    return valid;
}

static bool lags_valid(const tcuq_profile *p)
{
    if (!in(p->lag_count, 1, 8) || (p->lag_weights_q15 == NULL)) {
        return false;
    }
    bool valid = (p->lags[0] != 0u) && (in(p->blend_q15, 0, 32768) || has_outputs(p));
    for (uint32_t row = 0u, at = 0u; row < p->lag_count; row++) {
        int64_t sum = 0;
        for (uint32_t i = 0u; i <= row; i++) {
            sum += p->lag_weights_q15[at++];
        }
        valid = valid && (sum <= 32768) && ((row == 0u) || (p->lags[row] > p->lags[row - 1u]));
    }
    return valid;
}

static bool novelty_valid(const tcuq_profile *p)
{
    const uint32_t rows = (p->dimensions + 3u) / 4u * 4u;
    if ((p->whitening == NULL) || !TCUQ_WITH_NOVELTY) {
        return true;
    }
    if (!in(p->dimensions, 1, 32) || (p->whitening_shift == NULL) || (p->means == NULL) ||
        (p->mean_squares == NULL)) {
        return false;
    }
    bool valid = in(p->mean_count, 2, 65534) && (p->mean_count % 2u == 0u) && in(p->novelty_exponent, 0, 24);
    for (uint32_t i = 0u; i < rows; i++) {
        valid = valid && in(p->whitening_shift[i], 0, 30);
    }
    for (uint32_t k = 0u; valid && (k < p->mean_count); k++) {
        int64_t square = 0;
        for (uint32_t i = 0u; i < rows; i++) {
            const int64_t value = p->means[k * rows + i];
            valid = valid && in(value, -4096, 4095);
            square += value * value;
        }
        valid = valid && (square == p->mean_squares[k]);
    }
    return valid;
}

static bool signal_is_given(const tcuq_profile *p, uint8_t signal)
{
    return (signal < 7u) && ((signal != TCUQ_CONTRADICTION) || (p->stay_q8 != 0u)) && ((signal != TCUQ_INSTABILITY) || (p->width != 0u)) &&
           ((signal != TCUQ_NOVELTY) || (p->whitening != NULL));
}

static bool term_valid(const tcuq_profile *p, const tcuq_term *t)
{
    bool valid = signal_is_given(p, t->signal) && in(t->point_count, 1, 64) && (t->points != NULL) &&
                (t->bits_q10 != NULL) && in(t->ewma, 0, 10) && in(t->cap_q10, 0, 16384) &&
                in(t->weight_q8, 0, 16384) && in(t->error_q8, 0, 16384) && in(t->novelty_q8, 0, 256) &&
                in(t->start_q10, 0, 16384);
    for (uint32_t i = 1u; valid && (i < t->point_count); i++) {
        valid = (t->points[i] > t->points[i - 1u]) && (t->bits_q10[i] >= t->bits_q10[i - 1u]);
    }
    return valid;
}

static bool weights_valid(const tcuq_profile *p)
{
    return in(p->mix_q15, 0, 32768) && in(p->weight_shift, 5, 16);
}

static bool score_valid(const tcuq_profile *p)
{
    if (!in(p->bias_q16, -(1 << 29), 1 << 29) || !in(p->error_bias_q16, -(1 << 29), 1 << 29)) {
        return false;
    }
    if (p->terms == NULL) {
        return (p->term_count == 0u) && weights_valid(p);
    }
    if (!TCUQ_WITH_ANCHORED) {
        return true;
    }
    bool valid = in(p->term_count, 1, 10) && ((p->weight_shift == 0u) || weights_valid(p));
    for (uint32_t i = 0u; valid && (i < p->term_count); i++) {
        valid = term_valid(p, &p->terms[i]);
    }
    return valid;
}

static bool health_valid(const tcuq_profile *p)
{
    return !TCUQ_WITH_HEALTH || (p->health_count == 0u) ||
           (in(p->health_count, 1, 16) && (p->health_means != NULL) && (p->health_weights_q9 != NULL));
}

static bool channel_valid(const tcuq_profile *p, const tcuq_channel *c)
{
    const bool looks = (c->signal <= TCUQ_INSTABILITY) || (c->signal == TCUQ_NOVELTY);
    bool valid = (looks && signal_is_given(p, c->signal)) || (c->signal == TCUQ_RISK) ||
                 ((c->signal == TCUQ_HEALTH) && (p->health_count != 0u));
    bool power = false;
    for (uint32_t block = 8u; block <= 8192u; block *= 2u) {
        power = power || (c->block == block);
    }
    for (uint32_t k = 0u; k < 7u; k++) {
        valid = valid && in(c->counts[k], 1, 65519);
    }
    return valid && power && in(c->boot_limit_q8, 1, 32767) && in(c->centre, -(1 << 30), 1 << 30) &&
           (c->edges[0] <= c->edges[1]) && (c->edges[1] <= c->edges[2]);
}

static bool alarm_valid(const tcuq_profile *p)
{
    if (!TCUQ_WITH_ALARM) {
        return true;
    }
    if (p->channels == NULL) {
        return p->channel_count == 0u;
    }
    bool valid = in(p->channel_count, 1, 5) && in(p->alarm_limit, 1, (int64_t)20 << 24) &&
                 in(p->epoch_steps, 1, INT32_MAX);
    for (uint32_t i = 0u; valid && (i < p->channel_count); i++) {
        valid = channel_valid(p, &p->channels[i]);
    }
    return valid;
}

bool smooths(const tcuq_profile *p)
{
    bool any = false;
    for (uint32_t i = 0u; (p->terms != NULL) && (i < p->term_count); i++) {
        any = any || (p->terms[i].ewma != 0u);
    }
    return any;
}

tcuq_status expected_of(const tcuq_monitor *m)
{
    if ((m == NULL) || (m->profile == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    const tcuq_profile *p = m->profile;
    if (p->format != 5u) {
        return TCUQ_ERROR_FORMAT;
    }
    if (!inputs_valid(p) || !lags_valid(p) || !novelty_valid(p) || !score_valid(p) ||
        !health_valid(p) || !alarm_valid(p) ||
        (p->alpha_q16 == 0u) || !in(p->step, 0, 8192) || !in(p->start, 0, 16384) ||
        !in(p->anchor, 0, 16384) || !in(p->rate_q16, 0, 65536) || !in(p->burst_q16, 0, INT32_MAX) ||
        !in(p->withhold_denied, 0, 1) || !in(p->stay_q8, 0, 25600) || !in(p->rest_q8, 0, 768) ||
        !in(p->change_q8, 1, 256)) {
        return TCUQ_ERROR_PROFILE;
    }
    if ((!TCUQ_WITH_ANCHORED && ((p->terms != NULL) || (p->stay_q8 != 0u))) || (!TCUQ_WITH_PROJECTION && (p->projection != NULL)) ||
        (!TCUQ_WITH_NOVELTY && (p->whitening != NULL)) ||
        (!TCUQ_WITH_HEALTH && (p->health_count != 0u)) ||
        (!TCUQ_WITH_ALARM && ((p->channels != NULL) || (p->channel_count != 0u))) ||
        (!TCUQ_WITH_TELEMETRY && (m->telemetry != NULL))) {
        return TCUQ_ERROR_BUILD;
    }
    if ((m->core == NULL) || (m->slots == NULL) || (m->posteriors == NULL) ||
        ((p->width != 0u) && (m->features == NULL)) ||
        ((p->channel_count != 0u) && (m->channels == NULL)) || (smooths(p) && (m->smoothed_q8 == NULL))) {
        return TCUQ_ERROR_MEMORY;
    }
    return TCUQ_OK;
}
