/* SPDX-License-Identifier: Apache-2.0 */
/* The model of alarm_model.h: each step's sums, counts, evidence, alarm, cause and epoch. */
#include "alarm_model.h"

#include <math.h>
#include <string.h>

#include "bets_model.h"
#include "must.h"
#include "ranges.h"

#define BOOT_STEPS 1024u
#define CHORD_Q8 2.0     /* a logarithm of a sum is rounded down by at most this */
#define EVIDENCE_Q8 24.0 /* and an epoch's evidence */

void model_start(alarm_model *model, const subject *of)
{
    memset(model, 0, sizeof *model);
    model->runs = of->profile.channel_count != 0u;
    if (model->runs) {
        make_memory(&model->copy, of, &first_build, 0u);
    }
}

void model_end(alarm_model *model)
{
    if (model->runs) {
        free_memory(&model->copy);
    }
}

static int8_t eighths_of(int64_t change_q10)
{
    const int64_t eighths = llround((double)change_q10 / 128.0);
    return (int8_t)((eighths > 127) ? 127 : (eighths < -127) ? -127 : eighths);
}

/* Standard scores of the statistics, their squares' sum and the farthest. */
static void check_health(const tcuq_profile *p, const int16_t *health, const tcuq_signals *signals)
{
    const bool given = (health != NULL) && (p->health_count != 0u);
    int64_t total = 4096;
    int64_t worst = 0;
    for (uint32_t j = 0u; given && (j < p->health_count); j++) {
        int64_t apart = llabs((int64_t)health[j] - p->health_means[j]);
        apart = (apart > 32767) ? 32767 : apart;
        int64_t score = apart * p->health_weights_q9[j] / 8192;
        score = (score > 8191) ? 8191 : score;
        const int64_t ranked = score / 2 * 16 + j;
        total += score * score;
        worst = (ranked > worst) ? ranked : worst;
    }
    MUST(signals->health_given == given);
    MUST(signals->health_worst == worst);
    MUST(fabs(signals->health_q10 - 1024.0 * log2((double)total / 4096.0)) <= 3.0);
}

void model_before(alarm_model *model, const memory *of, const uint8_t *posterior, const int8_t *features,
                  const int16_t *health)
{
    if (!model->runs) {
        return;
    }
    for (uint32_t i = 0u; i < MEMORY_PARTS; i++) {
        memcpy(model->copy.parts[i], of->parts[i], of->sizes[i]);
    }
    model->core = *of->monitor.core;
    memcpy(model->channels, of->monitor.channels, of->monitor.profile->channel_count * sizeof model->channels[0]);
    tcuq_signals_run(&model->copy.monitor, posterior, features, health, &model->signals);
    check_health(of->monitor.profile, health, &model->signals);
    const uint32_t farthest = model->signals.health_worst % 16u;
    model->health_change = model->signals.health_given ? health[farthest] - of->monitor.profile->health_means[farthest] : 0;
}

/* The value a channel sums, and whether this step counts. */
static bool value_of(const tcuq_signals *signals, uint16_t risk, uint8_t signal, int64_t *value)
{
    const int64_t odds = (int64_t)tcuq_log2_q10(2u * risk + 1u) - tcuq_log2_q10(2u * (16384u - risk) + 1u);
    const int64_t values[] = {signals->values_q15[0],      signals->values_q15[1],
                              signals->values_q15[2] / 2,  signals->values_q15[3] / 2,
                              signals->low_confidence_q10, signals->novelty_q10,
                              signals->contradiction_q10,  odds,
                              signals->health_q10};
    *value = values[signal];
    if (signal == TCUQ_HEALTH) {
        return signals->health_given;
    }
    return signals->whole_past || ((signal != TCUQ_RISK) && (signal > TCUQ_INSTABILITY));
}

/* One step into a channel, which skips it if its block would end with another's; the number of edges passed if its
 * block ends, else -1. */
static int take(const alarm_model *model, const tcuq_channel *channel, tcuq_channel_state *state, uint16_t risk,
                bool alone)
{
    int64_t value;
    const bool last = (state->block_steps_and_memory & 0x3FFFu) + 1u == channel->block;
    if (!value_of(&model->signals, risk, channel->signal, &value) || (last && !alone)) {
        return -1;
    }
    const int64_t sum = state->sum + value;
    state->sum = (int32_t)sum;
    state->block_steps_and_memory++;
    if (!last) {
        return -1;
    }
    const int64_t height = (channel->two_sided != 0u) ? llabs(sum - channel->centre) : sum;
    const int64_t beyond = 2 * (int64_t)channel->edges[2] - channel->edges[0];
    int passed = 0;
    for (uint32_t edge = 0u; edge < 3u; edge++) {
        passed += (height > channel->edges[edge]) ? 1 : 0;
    }
    passed += ((passed == 3) && (height > beyond)) ? 1 : 0;
    if ((passed != 0) && (channel->signal != TCUQ_HEALTH)) {
        const int64_t past = sum / (int64_t)channel->block - channel->edges[0] / (int64_t)channel->block;
        const int64_t ratio = (int64_t)tcuq_log2_q10((sum > 0) ? (uint32_t)sum + 1u : 1u) -
                              tcuq_log2_q10((channel->centre > 0) ? (uint32_t)channel->centre + 1u : 1u);
        state->change = eighths_of((channel->two_sided != 0u) ? ratio : past);
    }
    state->sum = 0;
    bets_take(state, (uint32_t)passed);
    return passed;
}

/* An epoch's evidence, by the channels' onsets and spans after so many steps. */
static range evidence_of(const tcuq_profile *p, const range *onsets, const range *spans, uint32_t steps)
{
    double least = 0.0;
    double most = 0.0;
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        const double blocks = floor((double)steps / p->channels[i].block) + 1.0;
        const double lasts = 2.0 * blocks;
        const double ended = blocks * (blocks + 1.0);
        least += least_of(onsets[i]) / lasts + least_of(spans[i]) / ended;
        most += most_of(onsets[i]) / lasts + most_of(spans[i]) / ended;
    }
    /* Only the mean is saturated: a sum of channels may exceed the largest logarithm. */
    const range mean = {log_of(least / p->channel_count) - EVIDENCE_Q8, log_of(most / p->channel_count)};
    return mean;
}

void model_evidence(const memory *of, int16_t evidence_q8)
{
    const tcuq_profile *p = of->monitor.profile;
    range onsets[TCUQ_MAX_CHANNELS];
    range spans[TCUQ_MAX_CHANNELS];
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        onsets[i] = exactly(of->monitor.channels[i].onset_q8);
        spans[i] = exactly(of->monitor.channels[i].span_q8);
    }
    MUST((p->channel_count != 0u)
             ? holds(evidence_of(p, onsets, spans, of->monitor.core->epoch_steps), evidence_q8)
             : evidence_q8 == 0);
}

/* What a step must leave. */
typedef struct {
    tcuq_core core;
    tcuq_channel_state states[TCUQ_MAX_CHANNELS];
    range onsets[TCUQ_MAX_CHANNELS];
    range spans[TCUQ_MAX_CHANNELS];
    bool young;     /* soon after a boot */
    bool finished;  /* a block ended that passed an edge */
    uint8_t boot_may; /* flags of the channels whose own bets of calibration may alarm */
    bool boot_must;   /* and whether one must */
} outcome;

static void take_all(const alarm_model *model, const tcuq_profile *p, uint16_t risk, outcome *to)
{
    bool alone = true;
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        const tcuq_channel *channel = &p->channels[i];
        to->onsets[i] = exactly(to->states[i].onset_q8);
        to->spans[i] = exactly(to->states[i].span_q8);
        const int passed = take(model, channel, &to->states[i], risk, alone);
        if (passed >= 0) {
            alone = false;
            to->finished = to->finished || (passed > 0);
            to->onsets[i] = plus(sum_of(to->onsets[i], exactly(0.0), CHORD_Q8), channel->gains_q8[(passed < 3) ? passed : 3]);
            to->spans[i] = sum_of(to->spans[i], to->onsets[i], CHORD_Q8);
            to->boot_may |= (to->onsets[i].high >= channel->boot_limit_q8) ? channel->flag : 0u;
            to->boot_must = to->boot_must || (to->onsets[i].low - 1.0 >= channel->boot_limit_q8);
        }
    }
}

/* The alarm that the decision must show, and what it leaves. */
static void check_alarm(const tcuq_profile *p, const tcuq_decision *decision, outcome *to)
{
    uint64_t total = 0u;
    uint32_t largest = 0u;
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        const uint64_t sums = bets_sums(&p->channels[i], &to->states[i]);
        total += sums;
        largest = (sums > bets_sums(&p->channels[largest], &to->states[largest])) ? i : largest;
    }
    uint8_t flag = p->channels[largest].flag;
    const bool learned = to->finished && (total >= (uint64_t)p->alarm_limit * 3u);
    const bool amber = to->finished && (total * 64u >= (uint64_t)p->alarm_limit * 3u);
    MUST(decision->amber == ((amber || (decision->alarm != 0u)) ? 1u : 0u));
    if (learned) {
        MUST(decision->alarm == flag);
    } else if (decision->alarm != 0u) {
        flag = decision->alarm & (uint8_t)~TCUQ_ALARM_SINCE_BOOT;
        MUST(to->young && ((decision->alarm & TCUQ_ALARM_SINCE_BOOT) != 0u) && ((flag & to->boot_may) != 0u));
    } else {
        MUST(!(to->young && to->boot_must));
    }
    if (decision->alarm == 0u) {
        MUST((decision->cause == 0u) && (decision->change == 0));
        return;
    }
    uint8_t number = 1u;
    while ((flag >> number) != 0u) {
        number++;
    }
    const bool explained = (flag == TCUQ_ALARM_HEALTH) || (to->core.suspect / 512u >= 8u);
    const uint32_t statistic = to->core.suspect % 16u;
    to->core.cause = (uint8_t)(explained ? 5u + 16u * statistic : number);
    MUST(decision->cause == (explained ? statistic + 1u : 0u));
    int8_t change = 0;
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        change = (p->channels[i].flag == (explained ? TCUQ_ALARM_HEALTH : flag)) ? to->states[i].change : change;
    }
    MUST(decision->change == change);
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        memcpy(to->states[i].levels, rest_levels, sizeof rest_levels);
        to->onsets[i] = to->young ? exactly(-32768.0) : to->onsets[i];
    }
}

static void count_epoch(const tcuq_profile *p, int8_t closed, outcome *to)
{
    to->core.epoch_steps++;
    if (to->core.epoch_steps < p->epoch_steps) {
        MUST(closed == to->core.last_epoch_evidence);
        return;
    }
    const range evidence = evidence_of(p, to->onsets, to->spans, to->core.epoch_steps);
    const double low = fmax(-128.0, fmin(127.0, floor((evidence.low - 1.0) / 128.0)));
    MUST((low <= closed) && (closed <= fmax(-128.0, floor((evidence.high + 1e-6) / 128.0))));
    to->core.last_epoch_evidence = closed;
    to->core.epoch_steps = 0u;
    to->core.epoch = (to->core.epoch == UINT16_MAX) ? 1u : (uint16_t)(to->core.epoch + 1u);
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        to->onsets[i] = exactly(-32768.0);
        to->spans[i] = exactly(-32768.0);
    }
}

void model_after(alarm_model *model, const memory *of, const tcuq_decision *decision)
{
    const tcuq_profile *p = of->monitor.profile;
    const tcuq_core *core = of->monitor.core;
    outcome to = {.core = model->core};
    if (!model->runs) {
        return;
    }
    memcpy(to.states, model->channels, sizeof to.states);
    to.core.age += (to.core.age != UINT32_MAX) ? 1u : 0u;
    to.young = to.core.age <= BOOT_STEPS;
    const uint32_t farthest = model->signals.health_worst;
    const uint32_t votes = to.core.suspect / 16u % 16u;
    const bool votes_now = (farthest != 0u) && (to.core.epoch_steps % 4u == 0u);
    if (votes_now && (votes != 0u) && (farthest % 16u != to.core.suspect % 16u)) {
        to.core.suspect -= 16u;
    } else if (votes_now) {
        to.core.suspect = (uint16_t)(farthest / 256u * 256u + ((votes < 4u) ? votes + 1u : votes) * 16u + farthest % 16u);
        to.states[p->channel_count - 1u].change = eighths_of(model->health_change);
    }
    take_all(model, p, decision->risk, &to);
    check_alarm(p, decision, &to);
    count_epoch(p, core->last_epoch_evidence, &to);
    MUST((core->age == to.core.age) && (core->suspect == to.core.suspect) && (core->cause == to.core.cause));
    MUST((core->epoch == to.core.epoch) && (core->epoch_steps == to.core.epoch_steps));
    for (uint32_t i = 0u; i < p->channel_count; i++) {
        const tcuq_channel_state *state = &of->monitor.channels[i];
        MUST((state->sum == to.states[i].sum) && (state->block_steps_and_memory == to.states[i].block_steps_and_memory));
        MUST(state->change == to.states[i].change);
        MUST(memcmp(state->levels, to.states[i].levels, sizeof state->levels) == 0);
        MUST(memcmp(state->counts, to.states[i].counts, sizeof state->counts) == 0);
        MUST(holds(to.onsets[i], state->onset_q8));
        MUST(holds(to.spans[i], state->span_q8));
    }
}
