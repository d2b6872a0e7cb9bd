/* SPDX-License-Identifier: Apache-2.0 */
/* Input health: every input is also read as groups of channels and frames of samples. One tcuq_health gets them
 * frame by frame, another in blocks, on memory of exactly the size needed that held different garbage. Both must
 * give the same statistics, and these be the formulas' within 1.5 / 1024. */
#include <math.h>
#include <string.h>

#include "fuzz_case.h"

#if TCUQ_WITH_HEALTH

#include "tcuq_health.h"

#define MOST_GROUPS 6u
#define WORK 1000u /* samples of an ordinary input */
#define BOUND 1.5   /* of a statistic, in 1/1024 */

typedef struct {
    tcuq_health health;
    uint32_t width;
    bool refused;
} target;

/* Groups by the input's first bytes: each value now and then one that must be refused. */
static void make_target(target *made, bytes *in, uint8_t garbage)
{
    const uint8_t null = take8(in);
    const uint32_t count = take8(in) % (MOST_GROUPS + 1u);
    uint32_t statistics = 0u;
    memset(made, garbage, sizeof *made);
    made->width = 0u;
    made->refused = (null < 2u);
    made->health.group_count = (uint8_t)count;
    made->health.groups = malloc(count * sizeof *made->health.groups);
    memset(made->health.groups, garbage, count * sizeof *made->health.groups);
    for (uint32_t g = 0u; g < count; g++) {
        tcuq_health_group *group = &made->health.groups[g];
        group->channels = (uint8_t)((take8(in) < 0xE0u) ? 1u + take8(in) % 4u : take8(in) % 66u);
        group->spread = (take8(in) & 1u) != 0u;
        made->refused = made->refused || (group->channels == 0u) || (group->channels > 64u);
        made->width += group->channels;
        statistics += group->spread ? 4u : 3u;
    }
    made->refused = made->refused || (statistics == 0u) || (statistics > 16u);
    made->health.channels = malloc(made->width * sizeof *made->health.channels);
    memset(made->health.channels, garbage, made->width * sizeof *made->health.channels);
    if (null < 2u) {
        void *unused = (null == 0u) ? (void *)made->health.groups : (void *)made->health.channels;
        free(unused);
        made->health.groups = (null == 0u) ? NULL : made->health.groups;
        made->health.channels = (null == 0u) ? made->health.channels : NULL;
    }
}

static void free_target(target *made)
{
    free(made->health.groups);
    free(made->health.channels);
}

static void must_be_near(int16_t statistic, double value)
{
    MUST(fabs((double)statistic - 1024.0 * value) <= BOUND);
}

/* What a window's sums are folded to, of samples in exact arithmetic. */
static uint32_t folded_of(const tcuq_health_group *group, const int16_t *samples, uint32_t width, uint32_t frames)
{
    uint64_t differences = 0u;
    uint64_t squares = 0u;
    for (uint32_t i = 0u; i < frames; i++) {
        for (uint32_t c = 0u; c < group->channels; c++) {
            const int64_t now = samples[i * width + c];
            const int64_t step = (i == 0u) ? 0 : now - samples[(i - 1u) * width + c];
            differences += (uint64_t)(step * step);
            squares += (uint64_t)(now * now);
        }
    }
    uint64_t folded = (differences % 4294967296u) ^ (squares % 134217728u * 32u + squares % 4294967296u / 134217728u);
    for (uint32_t c = 0u; c < group->channels; c++) {
        int64_t sum = 0;
        for (uint32_t i = 0u; i < frames; i++) {
            sum += samples[i * width + c];
        }
        folded = (folded % 134217728u * 32u + folded / 134217728u) ^ (uint64_t)((sum + 4294967296) % 4294967296);
    }
    return (uint32_t)(folded / 2u * 2u + 1u);
}

/* The formulas in floating point. */
static const int16_t *check_group(const tcuq_health_group *group, const int16_t *samples, uint32_t width,
                                  uint32_t frames, const int16_t *statistics, bool same)
{
    const double pairs = (frames > 1u) ? frames - 1.0 : 1.0;
    double level = 0.0;
    double rough = 0.0;
    double spread = 0.0;
    double repeats = 0.0;
    for (uint32_t c = 0u; c < group->channels; c++) {
        double sum = 0.0;
        double square = 0.0;
        double same = 0.0;
        for (uint32_t i = 0u; i < frames; i++) {
            const double sample = samples[i * width + c];
            const double step = (i == 0u) ? 0.0 : sample - samples[(i - 1u) * width + c];
            sum += sample;
            square += sample * sample;
            rough += step * step / pairs;
            same += ((i != 0u) && (step == 0.0)) ? 1.0 : 0.0;
        }
        level += (sum / frames) * (sum / frames);
        spread += square / frames - (sum / frames) * (sum / frames);
        repeats = fmax(repeats, same / pairs);
    }
    must_be_near(statistics[0], 0.5 * log2(1.0 + level));
    must_be_near(statistics[1], 0.5 * log2(1.0 + rough));
    must_be_near(statistics[2], same ? 1.0 : repeats);
    if (group->spread) {
        must_be_near(statistics[3], 0.5 * log2(1.0 + fmax(spread, 0.0)));
    }
    return &statistics[group->spread ? 4 : 3];
}

/* A window through both, of which the second gets blocks; more frames than a window takes are ignored. */
static void run_window(target *first, target *second, bytes *in)
{
    uint32_t before[TCUQ_MAX_HEALTH];
    const uint32_t width = first->width;
    const uint8_t kind = take8(in);
    const bool longest = (kind == 0xFFu) && (width == 1u);
    const uint32_t most = longest ? 65540u : 1u + WORK / width;
    const uint32_t wanted = longest ? 65530u + take8(in) % 11u : take16(in);
    const uint32_t frames = (wanted < most) ? wanted : most;
    const uint32_t block = 1u + take16(in);
    const uint32_t kept = (frames < 65535u) ? frames : 65535u;
    series values = take_series(in, INT16_MIN, INT16_MAX);
    int16_t *samples = malloc((size_t)frames * width * sizeof *samples);
    int16_t one[16];
    int16_t other[16];
    memset(one, 0, sizeof one);
    memset(other, 0, sizeof other);
    for (uint32_t i = 0u; i < frames * width; i++) {
        samples[i] = ((i >= width) && ((kind & 3u) == 0u)) ? samples[i - width] : (int16_t)next_of(&values);
    }
    for (uint32_t i = 0u; i < frames; i++) {
        tcuq_health_fold(&first->health, &samples[i * width]);
    }
    for (uint32_t i = 0u; i < frames; i += block) {
        const uint32_t left = frames - i;
        tcuq_health_fold_frames(&second->health, &samples[i * width], (left < block) ? left : block);
    }
    tcuq_health_fold_frames(&second->health, samples, 0u);
    for (uint32_t g = 0u; g < first->health.group_count; g++) {
        before[g] = first->health.groups[g].before;
    }
    MUST(tcuq_health_finish(&first->health, one) == (frames != 0u));
    MUST(tcuq_health_finish(&second->health, other) == (frames != 0u));
    MUST(memcmp(one, other, sizeof one) == 0);
    const int16_t *at = one;
    const int16_t *from = samples;
    for (uint32_t g = 0u; g < first->health.group_count; g++) {
        const tcuq_health_group *group = &first->health.groups[g];
        if (frames != 0u) {
            MUST(group->before == folded_of(group, from, width, kept));
            at = check_group(group, from, width, kept, at, group->before == before[g]);
            from = &from[group->channels];
        }
    }
    MUST((frames != 0u) || (memcmp(one, (int16_t[16]){0}, sizeof one) == 0));
    free(samples);
}

void fuzz_samples(bytes in)
{
    target first;
    target second;
    bytes again = in;
    make_target(&first, &again, 0x5Au);
    make_target(&second, &in, 0xA5u);
    const tcuq_status expected = !first.refused ? TCUQ_OK
                                 : ((first.health.groups == NULL) || (first.health.channels == NULL))
                                     ? TCUQ_ERROR_NULL
                                     : TCUQ_ERROR_PROFILE;
    MUST(tcuq_health_init(NULL) == TCUQ_ERROR_NULL);
    MUST(tcuq_health_init(&first.health) == expected);
    MUST(tcuq_health_init(&second.health) == expected);
    for (uint32_t window = 0u; !first.refused && (window < 2u) && (in.left != 0u); window++) {
        run_window(&first, &second, &in);
    }
    free_target(&second);
    free_target(&first);
}

#else

void fuzz_samples(bytes in)
{
    (void)in;
}

#endif
