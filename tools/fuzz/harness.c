/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to a profile and operations on a monitor of it. Sanitizers watch the runtime; what it promises
 * beyond that is checked here and in snapshots.c.
 *
 * Two monitors go in step on memory that held different garbage, the second perhaps of another build,
 * and replaced by one restored from the first's snapshot whenever the input says so: they must never
 * differ. */
#include <string.h>

#include "fuzz_case.h"

#define MOST_BITS_Q10 16384u /* of one term's surprise */
#define WORK 150000u /* products an input may cost, so that none is slow */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decision(fuzz_case *on, const tcuq_decision *is)
{
    const int64_t risk_q16 = (int64_t)is->risk << 16;
    MUST(is->label < on->of.classes);
    MUST(is->risk <= TCUQ_RISK_LEVELS);
    MUST(is->novelty_q10 <= TCUQ_MAX_TERMS * MOST_BITS_Q10);
    MUST(is->outcome <= TCUQ_DENIED);
    MUST(is->exceeded <= 1u);
    MUST(((is->reason & TCUQ_REASON_DOUBT) != 0u) == (risk_q16 >= is->threshold_q16));
    MUST(((is->reason & TCUQ_REASON_UNUSUAL) != 0u) ==
         ((on->of.profile.novelty_limit_q10 != UINT16_MAX) && (is->novelty_q10 >= on->of.profile.novelty_limit_q10)));
    MUST(is->reason <= (TCUQ_REASON_DOUBT | TCUQ_REASON_UNUSUAL));
    MUST((is->outcome == TCUQ_ACCEPT) == (is->reason == 0u));
    MUST(is->withheld == ((is->outcome == TCUQ_ABSTAIN) ||
                          ((is->outcome == TCUQ_DENIED) && (on->of.profile.withhold_denied != 0u))));
    MUST(is->expected_error <= TCUQ_RISK_LEVELS);
    MUST(is->steady_label < on->of.classes);
    MUST((is->alarm & ~((uint32_t)on->of.flags | TCUQ_ALARM_SINCE_BOOT)) == 0u);
    on->steps++;
    on->abstained += (is->outcome == TCUQ_ABSTAIN) ? 1u : 0u;
    MUST(on->abstained * TCUQ_TOKEN <= on->of.burst_q16 + on->of.rate_q16 * on->steps);
}

static void step(fuzz_case *on, const int16_t *health)
{
    tcuq_decision one;
    tcuq_decision other;
    memset(&one, 0x11, sizeof one);
    memset(&other, 0x22, sizeof other);
    model_before(&on->model, &on->first, on->posterior, on->features, health);
    first_build.step(&on->first.monitor, on->posterior, on->features, health, &one);
    second_build.step(&on->second.monitor, on->posterior, on->features, health, &other);
    check_decision(on, &one);
    model_after(&on->model, &on->first, &one);
    MUST(memcmp(&one, &other, sizeof one) == 0);
    MUST(tcuq_alarm_stands(&on->first.monitor) == (on->first.monitor.core->cause != 0u));
    MUST((one.alarm == 0u) || tcuq_alarm_stands(&on->first.monitor));
}

enum { SAME, TURNED, NEGATED, FRESH };

/* The next step's vectors, from this one's. */
static void vary(fuzz_case *on, uint32_t how, series *posterior, series *features)
{
    const uint32_t classes = on->of.classes;
    const uint32_t width = on->of.width;
    const uint8_t first = on->posterior[0];
    const int8_t left = (width != 0u) ? on->features[0] : 0;
    for (uint32_t i = 0u; (how != SAME) && (i < classes); i++) {
        on->posterior[i] = (how == NEGATED)  ? (uint8_t)(255u - on->posterior[i])
                           : (how == FRESH)  ? (uint8_t)next_of(posterior)
                           : (i + 1u < classes) ? on->posterior[i + 1u] : first;
    }
    for (uint32_t i = 0u; (how != SAME) && (i < width); i++) {
        on->features[i] = (how == NEGATED)  ? (int8_t)(-1 - on->features[i])
                          : (how == FRESH)  ? (int8_t)next_of(features)
                          : (i + 1u < width) ? on->features[i + 1u] : left;
    }
}

static void op_steps(fuzz_case *on, bytes *in, uint32_t count)
{
    const uint32_t how = take8(in) % 4u;
    series posterior = take_series(in, 0, 255);
    series features = take_series(in, -128, 127);
    series health = take_series(in, INT16_MIN, INT16_MAX);
    const uint8_t lacking = take8(in); /* which of eight steps carry no health */
    const uint32_t cost = 3u * on->of.cost + on->of.classes + on->of.width;
    for (uint32_t i = 0u; (i < count) && afford(on, cost); i++) {
        vary(on, (i == 0u) ? FRESH : how, &posterior, &features);
        for (uint32_t j = 0u; ((i == 0u) || (how != SAME)) && (j < on->of.health); j++) {
            on->health[j] = (int16_t)next_of(&health);
        }
        step(on, (((lacking >> (i % 8u)) & 1u) != 0u) ? NULL : on->health);
    }
}

/* A record fits into its 97 bytes and carries a true checksum, or nothing is written. */
static void op_record(fuzz_case *on, bytes *in)
{
    const uint8_t kind = take8(in);
#if TCUQ_WITH_TELEMETRY
    const uint32_t size = (kind < 0x80u) ? TCUQ_RECORD_BYTES + kind % 4u : kind % TCUQ_RECORD_BYTES;
    const bool named = kind != 0x7Fu;
    const bool given = kind != 0x7Eu;
    tcuq_identity identity;
    uint8_t *buffer = malloc(size);
    memset(&identity, kind, sizeof identity);
    memset(buffer, CANARY, size);
    const tcuq_status status = tcuq_record(&on->first.monitor, named ? &identity : NULL,
                                           given ? buffer : NULL, size);
    const bool room = given && (size >= TCUQ_RECORD_BYTES);
    MUST(status == ((!named || !on->of.telemetry) ? TCUQ_ERROR_NULL
                    : !room                       ? TCUQ_ERROR_BUFFER
                                                  : TCUQ_OK));
    if (status == TCUQ_OK) {
        const uint32_t checked = TCUQ_RECORD_BYTES - 4u;
        MUST(crc32_of(buffer, checked) == read32(&buffer[checked]));
    }
    for (uint32_t i = (status == TCUQ_OK) ? TCUQ_RECORD_BYTES : 0u; i < size; i++) {
        MUST(buffer[i] == CANARY);
    }
    free(buffer);
#else
    (void)on;
    (void)kind;
#endif
}

/* A gap: the past is forgotten, unfinished blocks and evidence are not. */
static void op_gap(fuzz_case *on)
{
    const tcuq_channel_state *states = on->first.monitor.channels;
    const size_t size = on->of.profile.channel_count * sizeof *states;
    tcuq_channel_state before[TCUQ_MAX_CHANNELS];
    if (states != NULL) {
        memcpy(before, states, size);
    }
    first_build.reset_history(&on->first.monitor);
    second_build.reset_history(&on->second.monitor);
    MUST((states == NULL) || (memcmp(before, states, size) == 0));
}

/* A repair: no alarm stands, and the counts are calibration's again. */
static void op_repair(fuzz_case *on)
{
    first_build.acknowledge(&on->first.monitor);
    second_build.acknowledge(&on->second.monitor);
    MUST(!tcuq_alarm_stands(&on->first.monitor));
    for (uint32_t i = 0u; i < on->of.profile.channel_count; i++) {
        MUST(memcmp(on->first.monitor.channels[i].counts, on->of.profile.channels[i].counts,
                    sizeof on->of.profile.channels[i].counts) == 0);
    }
}

static void op_epoch(const fuzz_case *on)
{
    const int16_t evidence = first_build.epoch_evidence(&on->first.monitor);
    MUST(evidence == second_build.epoch_evidence(&on->second.monitor));
    MUST(tcuq_alarm_stands(&on->first.monitor) == tcuq_alarm_stands(&on->second.monitor));
    model_evidence(&on->first, evidence);
}

/* From the start again: by tcuq_init or by tcuq_reset, which must be the same. */
static void op_restart(fuzz_case *on)
{
    MUST(first_build.init(&on->first.monitor) == TCUQ_OK);
    second_build.reset(&on->second.monitor);
    on->steps = 0u;
    on->abstained = 0u;
}

static void operate(fuzz_case *on, bytes *in)
{
    const uint8_t what = take8(in);
    switch (what % 13u) {
    case 0:
        op_steps(on, in, 1u);
        break;
    case 1:
        op_steps(on, in, 1u + take8(in));
        break;
    case 2:
        op_steps(on, in, 1u + take16(in));
        break;
    case 3:
        op_power_cut(on);
        break;
    case 4:
        op_restore(on, in, DAMAGED);
        break;
    case 5:
        op_restore(on, in, FORGED);
        break;
    case 6:
    case 12:
        op_restore(on, in, EXTREME);
        break;
    case 7:
        op_record(on, in);
        break;
    case 8:
        if (what >= 128u) {
            op_repair(on);
        }
        op_gap(on);
        break;
    case 9:
        op_epoch(on);
        break;
    case 10:
        op_restart(on);
        break;
    default:
        op_small_buffer(on, in);
        MUST(tcuq_strerror((tcuq_status)(int32_t)take32(in))[0] != '\0');
        MUST(tcuq_strerror((tcuq_status)INT32_MAX)[0] == 'u');
        MUST(tcuq_strerror((tcuq_status)1)[0] != '\0');
        break;
    }
}

/* tcuq_init says what it must; a refused profile leaves the memory as it was. */
static bool start(fuzz_case *on)
{
    tcuq_monitor *given = on->of.no_monitor ? NULL : &on->first.monitor;
    const tcuq_status expected = expected_of(given);
    uint8_t *before = copy_memory(&on->first);
    MUST(!on->of.sound || (expected == TCUQ_OK) || (expected == TCUQ_ERROR_BUILD));
    MUST(first_build.init(given) == expected);
    MUST(second_build.init(on->of.no_monitor ? NULL : &on->second.monitor) == expected);
    if (expected != TCUQ_OK) {
        MUST(is_unchanged(&on->first, before));
    }
    free(before);
    return expected == TCUQ_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bytes in = {data, size};
    fuzz_case on;
    fuzz_samples(in);
    memset(&on, 0, sizeof on);
    make_subject(&on.of, &in);
    on.garbage = 0x5Au;
    on.work = WORK;
    make_memory(&on.first, &on.of, &first_build, 0xA5u);
    make_memory(&on.second, &on.of, &second_build, on.garbage);
    if (start(&on)) {
        on.posterior = malloc(on.of.classes);
        on.features = (on.of.width != 0u) ? malloc(on.of.width) : NULL;
        on.health = (on.of.health != 0u) ? malloc(on.of.health * sizeof *on.health) : NULL;
        model_start(&on.model, &on.of);
        while ((in.left != 0u) && afford(&on, 64u)) {
            operate(&on, &in);
        }
        model_end(&on.model);
        free(on.health);
        free(on.features);
        free(on.posterior);
    }
    free_memory(&on.second);
    free_memory(&on.first);
    free_subject(&on.of);
    return 0;
}
