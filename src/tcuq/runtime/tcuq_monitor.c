/* SPDX-License-Identifier: Apache-2.0 */
/* Monitor: checks a profile once, then composes the stages. */
#include "tcuq_internal.h"

#define TCUQ_MAX_BIAS (1 << 29)

static const char *const tcuq_texts[] = {
    [0] = "done",
    [-TCUQ_ERROR_NULL] = "a pointer that must not be null is",
    [-TCUQ_ERROR_FORMAT] = "the profile is of another format than this runtime",
    [-TCUQ_ERROR_PROFILE] = "a value of the profile breaks its rule",
    [-TCUQ_ERROR_BUILD] = "the profile needs a part that this build leaves out",
    [-TCUQ_ERROR_MEMORY] = "memory that the profile needs is not given",
    [-TCUQ_ERROR_BUFFER] = "the buffer is too small",
    [-TCUQ_ERROR_SNAPSHOT] = "the snapshot is damaged",
    [-TCUQ_ERROR_FOREIGN] = "the snapshot belongs to another profile",
};

const char *tcuq_strerror(tcuq_status status)
{
    const int32_t index = -(int32_t)status;
    const int32_t count = (int32_t)(sizeof tcuq_texts / sizeof tcuq_texts[0]);
    return ((index >= 0) && (index < count)) ? tcuq_texts[index] : "not a status";
}

static bool tcuq_inputs_sound(const tcuq_profile *profile)
{
    const bool projected = profile->projection != NULL;
    if ((profile->classes < 2u) || (profile->classes > TCUQ_MAX_CLASSES) ||
        (profile->dimensions > TCUQ_MAX_DIMENSIONS) || ((profile->width == 0u) != (profile->dimensions == 0u))) {
        return false;
    }
    if (!projected) {
        return profile->width == profile->dimensions;
    }
    if ((profile->projection_bias == NULL) || (profile->projection_shift > 30u)) {
        return false;
    }
    for (uint8_t row = 0u; row < profile->dimensions; row++) {
        const int32_t bias = profile->projection_bias[row];
        if ((bias > TCUQ_MAX_BIAS) || (bias < -TCUQ_MAX_BIAS)) {
            return false;
        }
    }
    return profile->width != 0u;
}

static bool tcuq_lags_sound(const tcuq_profile *profile)
{
    if ((profile->lag_count < 1u) || (profile->lag_count > TCUQ_MAX_LAGS) ||
        (profile->lag_weights_q15 == NULL) || (profile->blend_q15 > 32768u) ||
        (profile->mix_q15 > 32768u) || (profile->lags[0] == 0u)) {
        return false;
    }
    const uint16_t *weights = profile->lag_weights_q15;
    for (uint8_t count = 1u; count <= profile->lag_count; count++) {
        uint32_t sum = 0u;
        for (uint8_t i = 0u; i < count; i++) {
            sum += *weights;
            weights++;
        }
        if ((sum > 32768u) || ((count > 1u) && (profile->lags[count - 1u] <= profile->lags[count - 2u]))) {
            return false;
        }
    }
    return true;
}

static bool tcuq_novelty_sound(const tcuq_profile *profile)
{
    if (profile->whitening == NULL) {
        return true;
    }
    if ((profile->dimensions == 0u) || (profile->whitening_shift == NULL) || (profile->means == NULL) ||
        (profile->mean_count == 0u) || (profile->novelty_unit == 0u) ||
        (profile->novelty_unit > (1u << 24))) {
        return false;
    }
    for (uint8_t row = 0u; row < profile->dimensions; row++) {
        if ((profile->whitening_shift[row] < -7) || (profile->whitening_shift[row] > 30)) {
            return false;
        }
    }
    const uint32_t count = (uint32_t)profile->mean_count * profile->dimensions;
    for (uint32_t i = 0u; i < count; i++) {
        if ((profile->means[i] > 4095) || (profile->means[i] < -4095)) {
            return false;
        }
    }
    return true;
}

static bool tcuq_signal_given(const tcuq_profile *profile, uint8_t signal)
{
    if (signal == (uint8_t)TCUQ_NOVELTY) {
        return profile->whitening != NULL;
    }
    if (signal == (uint8_t)TCUQ_INSTABILITY) {
        return profile->width != 0u;
    }
    return signal < (uint8_t)TCUQ_SIGNALS;
}

static bool tcuq_term_sound(const tcuq_profile *profile, const tcuq_term *term)
{
    if (!tcuq_signal_given(profile, term->signal) || (term->point_count < 1u) ||
        (term->point_count > TCUQ_MAX_POINTS) || (term->points == NULL) || (term->bits_q10 == NULL) ||
        (term->ewma > 10u) || (term->cap_q10 > 16384u) || (term->weight_q8 > 16384u)) {
        return false;
    }
    for (uint8_t i = 1u; i < term->point_count; i++) {
        if ((term->points[i] <= term->points[i - 1u]) || (term->bits_q10[i] < term->bits_q10[i - 1u])) {
            return false;
        }
    }
    return true;
}

static bool tcuq_score_sound(const tcuq_profile *profile)
{
    if (profile->terms == NULL) {
        return (profile->weight_shift >= 5u) && (profile->weight_shift <= 16u) &&
               (profile->bias_q16 <= TCUQ_MAX_BIAS) && (profile->bias_q16 >= -TCUQ_MAX_BIAS);
    }
    if ((profile->term_count < 1u) || (profile->term_count > TCUQ_MAX_TERMS)) {
        return false;
    }
    for (uint8_t i = 0u; i < profile->term_count; i++) {
        if (!tcuq_term_sound(profile, &profile->terms[i])) {
            return false;
        }
    }
    return true;
}

static bool tcuq_channel_sound(const tcuq_profile *profile, const tcuq_channel *channel)
{
    if (!tcuq_signal_given(profile, channel->signal) || (channel->block < 16u) ||
        (channel->block > TCUQ_MAX_BLOCK) || ((channel->block & (channel->block - 1u)) != 0u) ||
        (channel->limit_q8 == 0u) || (channel->limit_q8 > 32767u) ||
        (channel->centre > (1 << 30)) || (channel->centre < -(1 << 30))) {
        return false;
    }
    return (channel->edges[0] <= channel->edges[1]) && (channel->edges[1] <= channel->edges[2]);
}

static bool tcuq_decisions_sound(const tcuq_profile *profile)
{
    if ((profile->alpha_q16 == 0u) || (profile->step == 0u) || (profile->step > TCUQ_MAX_STEP) ||
        (profile->start > TCUQ_RISK_LEVELS) || (profile->anchor > TCUQ_RISK_LEVELS) ||
        (profile->rate_q16 > TCUQ_TOKEN) || (profile->burst_q16 > (uint32_t)INT32_MAX)) {
        return false;
    }
    if (profile->channels == NULL) {
        return profile->channel_count == 0u;
    }
    if ((profile->channel_count < 1u) || (profile->channel_count > TCUQ_MAX_CHANNELS)) {
        return false;
    }
    for (uint8_t i = 0u; i < profile->channel_count; i++) {
        if (!tcuq_channel_sound(profile, &profile->channels[i])) {
            return false;
        }
    }
    return true;
}

static bool tcuq_smooths(const tcuq_profile *profile)
{
    for (uint8_t i = 0u; (profile->terms != NULL) && (i < profile->term_count); i++) {
        if (profile->terms[i].ewma != 0u) {
            return true;
        }
    }
    return false;
}

tcuq_status tcuq_init(const tcuq_monitor *monitor)
{
    if ((monitor == NULL) || (monitor->profile == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    const tcuq_profile *profile = monitor->profile;
    if (profile->format != TCUQ_PROFILE_FORMAT) {
        return TCUQ_ERROR_FORMAT;
    }
    if (!tcuq_inputs_sound(profile) || !tcuq_lags_sound(profile) || !tcuq_novelty_sound(profile) ||
        !tcuq_score_sound(profile) || !tcuq_decisions_sound(profile)) {
        return TCUQ_ERROR_PROFILE;
    }
    if ((!TCUQ_WITH_NOVELTY && (profile->whitening != NULL)) ||
        (!TCUQ_WITH_ALARM && (profile->channels != NULL)) ||
        (!TCUQ_WITH_TELEMETRY && (monitor->telemetry != NULL))) {
        return TCUQ_ERROR_BUILD;
    }
    if ((monitor->core == NULL) || (monitor->slots == NULL) || (monitor->posteriors == NULL) ||
        ((profile->width != 0u) && (monitor->features == NULL)) ||
        ((profile->channels != NULL) && (monitor->channels == NULL)) ||
        (tcuq_smooths(profile) && (monitor->smoothed_q8 == NULL))) {
        return TCUQ_ERROR_MEMORY;
    }
    tcuq_reset(monitor);
    return TCUQ_OK;
}

void tcuq_step(const tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
               tcuq_decision *decision)
{
    tcuq_signals signals;
    tcuq_signals_run(monitor, posterior, features, &signals);
    decision->label = signals.label;
    decision->risk = tcuq_score_run(monitor, &signals);
    decision->outcome =
        tcuq_budget_run(monitor, tcuq_threshold_run(monitor, decision->risk, decision));
    decision->alarm = 0u;
    decision->reserved = 0u;
#if TCUQ_WITH_ALARM
    decision->alarm = tcuq_alarm_run(monitor, &signals);
#endif
#if TCUQ_WITH_TELEMETRY
    if (monitor->telemetry != NULL) {
        tcuq_telemetry_count(monitor, decision);
    }
#endif
}

void tcuq_reset_history(const tcuq_monitor *monitor)
{
    tcuq_signals_reset(monitor);
    tcuq_score_reset(monitor);
#if TCUQ_WITH_ALARM
    tcuq_alarm_reset_history(monitor);
#endif
}

void tcuq_reset(const tcuq_monitor *monitor)
{
    tcuq_reset_history(monitor);
    monitor->core->reserved = 0u;
    tcuq_threshold_reset(monitor);
    tcuq_budget_reset(monitor);
#if TCUQ_WITH_ALARM
    tcuq_alarm_reset(monitor);
#endif
#if TCUQ_WITH_TELEMETRY
    if (monitor->telemetry != NULL) {
        tcuq_telemetry_reset(monitor);
    }
#endif
}
