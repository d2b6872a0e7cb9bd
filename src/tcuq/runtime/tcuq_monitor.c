/* SPDX-License-Identifier: Apache-2.0 */
/* Monitor: checks a profile once, stage by stage, then composes the stages. */
#include "tcuq_internal.h"

#if TCUQ_WITH_UPLINK || TCUQ_WITH_OTA
#define TCUQ_LAST_ERROR TCUQ_ERROR_BUSY
#define TCUQ_LAST_NOTICE TCUQ_OLDER
#else
#define TCUQ_LAST_ERROR TCUQ_ERROR_VERSION
#define TCUQ_LAST_NOTICE TCUQ_OK
#endif

/* One text after another: TCUQ_OK, the errors downwards, the notices upwards; the last is of any other status. */
static const char tcuq_texts[] = "done\0"
                                 "null pointer\0"
                                 "another format\0"
                                 "profile out of range\0"
                                 "part left out\0"
                                 "memory not given\0"
                                 "buffer of a wrong size\0"
                                 "snapshot damaged\0"
                                 "of another profile or device\0"
                                 "snapshot of another version\0"
#if TCUQ_WITH_UPLINK || TCUQ_WITH_OTA
                                 "uplink out of range or order\0"
                                 "no slot left\0"
                                 "snapshot not written\0"
                                 "no record\0"
                                 "no number left\0"
                                 "snapshot inconsistent\0"
                                 "not authentic\0"
                                 "blob not aligned\0"
                                 "blob damaged\0"
                                 "number used before\0"
                                 "made for other inputs\0"
                                 "needs more memory\0"
                                 "self-test failed\0"
                                 "flash not written\0"
                                 "profile on trial\0"
                                 "made for another product\0"
                                 "expired\0"
                                 "no answer yet\0"
                                 "new boot\0"
                                 "not due\0"
                                 "older snapshot\0"
#endif
                                 "unknown";

const char *tcuq_strerror(tcuq_status status)
{
    const int32_t errors = -(int32_t)TCUQ_LAST_ERROR;
    const int32_t notices = (int32_t)TCUQ_LAST_NOTICE;
    int32_t left = 1 + errors + notices; /* texts before the one of this status */
    uint32_t at = 0u;
    if ((status <= TCUQ_OK) && (status >= TCUQ_LAST_ERROR)) {
        left = -(int32_t)status;
    } else if ((status > TCUQ_OK) && (status <= TCUQ_LAST_NOTICE)) {
        left = errors + (int32_t)status;
    } else {
        /* unknown */
    }
    /*@ loop invariant at < sizeof(tcuq_texts) && left <= 31;
        loop assigns at, left;
        loop variant sizeof(tcuq_texts) - at; */
    while ((left > 0) && (at < (sizeof(tcuq_texts) - 1u))) {
        left -= (tcuq_texts[at] == '\0') ? 1 : 0;
        at++;
    }
    return &tcuq_texts[at];
}

#if TCUQ_CHECK_PROFILE

static bool tcuq_profile_sound(const tcuq_profile *profile)
{
    return tcuq_signals_sound(profile) && tcuq_score_sound(profile) &&
#if TCUQ_WITH_NOVELTY
           tcuq_novelty_sound(profile) &&
#endif
#if TCUQ_WITH_HEALTH
           tcuq_health_sound(profile) &&
#endif
#if TCUQ_WITH_ALARM
           tcuq_alarm_sound(profile) &&
#endif
           tcuq_threshold_sound(profile) && tcuq_budget_sound(profile);
}

#endif

static bool tcuq_memory_given(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    return (monitor->core != NULL) && (monitor->slots != NULL) && (monitor->posteriors != NULL) &&
           ((profile->width == 0u) || (monitor->features != NULL)) &&
#if TCUQ_WITH_ANCHORED
           (!tcuq_score_smooths(profile) || (monitor->smoothed_q8 != NULL)) &&
#endif
           ((profile->channels == NULL) || (monitor->channels != NULL));
}

tcuq_status tcuq_init(tcuq_monitor *monitor)
{
    if ((monitor == NULL) || (monitor->profile == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    const tcuq_profile *profile = monitor->profile;
    if (profile->format != TCUQ_PROFILE_FORMAT) {
        return TCUQ_ERROR_FORMAT;
    }
#if TCUQ_CHECK_PROFILE
    if (!tcuq_profile_sound(profile)) {
        return TCUQ_ERROR_PROFILE;
    }
#endif
    if ((!TCUQ_WITH_ANCHORED && ((profile->terms != NULL) || (profile->stay_q8 != 0u))) ||
        (!TCUQ_WITH_CLASSES && (profile->blend_q15 != TCUQ_NO_CLASSES)) ||
        (!TCUQ_WITH_PROJECTION && (profile->projection != NULL)) ||
        (!TCUQ_WITH_NOVELTY && (profile->whitening != NULL)) ||
        (!TCUQ_WITH_HEALTH && (profile->health_count != 0u)) ||
        (!TCUQ_WITH_ALARM && ((profile->channels != NULL) || (profile->channel_count != 0u))) ||
        (!TCUQ_WITH_TELEMETRY && (monitor->telemetry != NULL))) {
        return TCUQ_ERROR_BUILD;
    }
    if (!tcuq_memory_given(monitor)) {
        return TCUQ_ERROR_MEMORY;
    }
    tcuq_reset(monitor);
    return TCUQ_OK;
}

void tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features,
               const int16_t *health, tcuq_decision *decision)
{
    tcuq_signals signals;
    tcuq_signals_run(monitor, posterior, features, health, &signals);
    decision->label = signals.label;
    decision->steady_label = (monitor->profile->stay_q8 != 0u) ? monitor->core->kept[0] : signals.label;
    tcuq_score_run(monitor, &signals, decision);
    tcuq_threshold_run(monitor, decision);
    tcuq_budget_run(monitor, decision);
    //@ assert tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor);
#if TCUQ_WITH_ALARM
    //@ assert tcuq_alarm_given(monitor) && tcuq_epoch_ok(monitor);
    //@ assert tcuq_alarm_ok(monitor);
    tcuq_alarm_note(monitor, health, &signals);
    //@ assert tcuq_alarm_given(monitor) && tcuq_epoch_ok(monitor);
    tcuq_alarm_run(monitor, &signals, decision);
    //@ assert tcuq_ring_ok(monitor) && tcuq_slots_ok(monitor);
#else
    decision->alarm = 0u;
    decision->amber = 0u;
    decision->cause = 0u;
    decision->change = 0;
#endif
#if TCUQ_WITH_TELEMETRY
    if (monitor->telemetry != NULL) {
        tcuq_telemetry_count(monitor, &signals, decision);
    }
#endif
}

bool tcuq_alarm_stands(const tcuq_monitor *monitor)
{
    return monitor->core->cause != 0u;
}

void tcuq_alarm_acknowledge(tcuq_monitor *monitor)
{
    monitor->core->age = 0u;
    monitor->core->cause = 0u;
    monitor->core->suspect = 0u;
#if TCUQ_WITH_ALARM
    tcuq_alarm_forget(monitor);
#endif
}

void tcuq_reset_history(tcuq_monitor *monitor)
{
    tcuq_signals_reset(monitor);
#if TCUQ_WITH_ANCHORED
    tcuq_score_reset(monitor);
#else
    monitor->core->recent_q18 = 0u;
#endif
}

void tcuq_reset(tcuq_monitor *monitor)
{
    tcuq_reset_history(monitor);
    monitor->core->last_epoch_evidence = INT8_MIN;
    monitor->core->cause = 0u;
    monitor->core->epoch_steps = 0u;
    monitor->core->epoch = 0u;
    monitor->core->suspect = 0u;
    tcuq_threshold_reset(monitor);
    tcuq_budget_reset(monitor);
#if TCUQ_WITH_ALARM
    tcuq_alarm_reset(monitor);
#endif
#if TCUQ_WITH_TELEMETRY
    if (monitor->telemetry != NULL) {
        tcuq_telemetry_reset(monitor);
        tcuq_means_reset(monitor);
    }
#endif
}
