/* SPDX-License-Identifier: Apache-2.0 */
/* Input health: sums over the samples of a window, and the statistics they give. */
#include "tcuq_health.h"
#include "tcuq_internal.h"

#ifdef __FRAMAC__
#include "tcuq_acsl_samples.h"
#endif

#if TCUQ_WITH_HEALTH

/* From this many frames on, squares of sums are in 1/64: those of 64 channels then fit in 64 bits. */
#define TCUQ_HEALTH_LONG 8192u
#define TCUQ_HEALTH_SHIFT 6u

/* GCC would keep each pointer twice, and run out of registers. */
#if defined(__GNUC__) && defined(__arm__) && !defined(__FRAMAC__)
#define TCUQ_ONE_REGISTER(pointer) __asm__("" : "+r"(pointer))
#else
#define TCUQ_ONE_REGISTER(pointer)
#endif

/* Squares -65535..65535. A product of 64 bits is a call on a CPU without it: there 32 bits are enough. */
static inline uint64_t tcuq_health_square(int32_t value)
{
#if defined(__ARM_ARCH_ISA_THUMB) && (__ARM_ARCH_ISA_THUMB == 1)
    const uint32_t size = (uint32_t)((value < 0) ? -value : value);
    return size * size;
#else
    return (uint64_t)((int64_t)value * value);
#endif
}

static void tcuq_health_begin(tcuq_health *health)
{
    /*@ loop invariant 0 <= g <= health->group_count;
        loop invariant tcuq_group_sums_ok(health->groups, 0, g, 0);
        loop invariant tcuq_health_kept{Pre, Here}(health);
        loop assigns g, TCUQ_LOOP_GROUPS;
        loop variant health->group_count - g; */
    for (uint32_t g = 0u; g < health->group_count; g++) {
        health->groups[g].differences = 0u;
        health->groups[g].squares = 0u;
    }
    tcuq_health_channel *channels = health->channels;
    const uint32_t width = health->width;
    /*@ loop invariant 0 <= c <= width;
        loop invariant tcuq_health_kept{Pre, Here}(health);
        loop invariant tcuq_channel_sums_ok(channels, 0, c, 0);
        loop assigns c, channels[0 .. width - 1];
        loop variant width - c; */
    for (uint32_t c = 0u; c < width; c++) {
        channels[c].sum = 0;
        channels[c].repeats = 0u;
    }
    health->frames = 0u;
}

tcuq_status tcuq_health_init(tcuq_health *health)
{
    if ((health == NULL) || (health->groups == NULL) || (health->channels == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    uint32_t statistics = 0u;
    uint32_t width = 0u;
    /*@ loop invariant 0 <= g <= health->group_count && width <= 64 * g && 3 * g <= statistics <= 4 * g;
        loop invariant width == tcuq_before(health->groups, g) && statistics == tcuq_numbers(health->groups, g);
        loop invariant tcuq_health_groups_ok(health->groups, g, width, statistics);
        loop assigns g, width, statistics, TCUQ_LOOP_GROUPS;
        loop variant health->group_count - g; */
    for (uint32_t g = 0u; g < health->group_count; g++) {
        tcuq_health_group *group = &health->groups[g];
        group->before = 0u;
        if ((group->channels == 0u) || (group->channels > TCUQ_HEALTH_MAX_CHANNELS)) {
            return TCUQ_ERROR_PROFILE;
        }
        width += group->channels;
        statistics += group->spread ? 4u : 3u;
    }
    if ((statistics == 0u) || (statistics > TCUQ_MAX_HEALTH)) {
        return TCUQ_ERROR_PROFILE;
    }
    health->width = (uint16_t)width;
    tcuq_health_begin(health);
    return TCUQ_OK;
}

/* The first frame of a window follows itself: no difference, and a repeat that tcuq_health_finish takes off. */
static void tcuq_health_first(const tcuq_health *health, const int16_t *frame)
{
    /*@ loop invariant 0 <= c <= health->width;
        loop invariant tcuq_health_kept{Pre, Here}(health);
        loop invariant tcuq_channels_kept{Pre, Here}(health->channels, health->width);
        loop assigns c, TCUQ_LOOP_CHANNELS;
        loop variant health->width - c; */
    for (uint32_t c = 0u; c < health->width; c++) {
        health->channels[c].last = frame[c];
    }
}

void tcuq_health_fold(tcuq_health *health, const int16_t *frame)
{
    if (health->frames == TCUQ_HEALTH_MAX_FRAMES) {
        return;
    }
    if (health->frames == 0u) {
        tcuq_health_first(health, frame);
    }
    health->frames++;
    const int16_t *at = frame;
    tcuq_health_channel *channel = health->channels;
    tcuq_health_group *group = health->groups;
    uint32_t groups = health->group_count;
    /*@ loop invariant 1 <= groups <= TCUQ_GROUPS;
        loop invariant tcuq_health_kept{Pre, Here}(health);
        loop invariant group == health->groups + (TCUQ_GROUPS - groups);
        loop invariant channel == health->channels + TCUQ_PLACE && at == frame + TCUQ_PLACE;
        loop invariant tcuq_channel_sums_ok(health->channels, 0, TCUQ_PLACE, TCUQ_FRAMES + 1);
        loop invariant tcuq_channel_sums_ok(health->channels, TCUQ_PLACE, TCUQ_WIDTH, TCUQ_FRAMES);
        loop invariant tcuq_group_sums_ok(health->groups, 0, TCUQ_GROUPS - groups, TCUQ_FRAMES + 1);
        loop invariant tcuq_group_sums_ok(health->groups, TCUQ_GROUPS - groups, TCUQ_GROUPS, TCUQ_FRAMES);
        loop assigns groups, group, channel, at, TCUQ_LOOP_CHANNELS, TCUQ_LOOP_GROUPS;
        loop variant groups; */
    do {
        uint64_t differences = group->differences;
        uint64_t squares = group->squares;
        uint32_t channels = group->channels;
        /*@ loop invariant 1 <= channels <= group->channels;
            loop invariant channel == health->channels + TCUQ_INSIDE && at == frame + TCUQ_INSIDE;
            loop invariant differences <= 0x4000000000 * TCUQ_FRAMES + 0x100000000 * (group->channels - channels);
            loop invariant squares <= 0x1000000000 * TCUQ_FRAMES + 0x40000000 * (group->channels - channels);
            loop invariant tcuq_channel_sums_ok(health->channels, 0, TCUQ_INSIDE, TCUQ_FRAMES + 1);
            loop invariant tcuq_channel_sums_ok(health->channels, TCUQ_INSIDE, TCUQ_WIDTH, TCUQ_FRAMES);
            loop assigns channels, channel, at, differences, squares, TCUQ_LOOP_CHANNELS;
            loop variant channels; */
        do {
            const int32_t sample = *at;
            const int32_t difference = sample - channel->last;
            at++;
            differences += tcuq_health_square(difference);
            squares += tcuq_health_square(sample);
            channel->last = (int16_t)sample;
            if (difference == 0) {
                channel->repeats++;
            }
            channel->sum += sample;
            channel++;
            TCUQ_ONE_REGISTER(channel);
            TCUQ_ONE_REGISTER(at);
            channels--;
        } while (channels != 0u);
        group->differences = differences;
        group->squares = squares;
        group++;
        groups--;
    } while (groups != 0u);
}

/* Adds `count` samples of one channel, `width` apart: at least one. */
static TCUQ_NOINLINE void tcuq_health_add(tcuq_health_group *group, tcuq_health_channel *channel,
                                           const int16_t *samples, uint32_t width, uint32_t count)
{
    uint64_t differences = group->differences;
    uint64_t squares = group->squares;
    int32_t sum = channel->sum;
    int32_t last = channel->last;
    uint32_t at = 0u;
    uint32_t left = count;
    /*@ loop invariant 1 <= left <= count && at == tcuq_cells(count - left, width) <= 1024 * (count - left);
        loop invariant -32768 <= last <= 32767 && channel->repeats + left <= 65535;
        loop invariant -32768 * (65535 - left) <= sum <= 32767 * (65535 - left);
        loop invariant channel->repeats <= \at(channel->repeats, Pre) + (count - left);
        loop invariant \at(channel->sum, Pre) - 32768 * (count - left) <= sum;
        loop invariant sum <= \at(channel->sum, Pre) + 32767 * (count - left);
        loop invariant differences <= \at(group->differences, Pre) + 0x100000000 * (count - left);
        loop invariant squares <= \at(group->squares, Pre) + 0x40000000 * (count - left);
        loop assigns left, at, sum, last, differences, squares, channel->repeats;
        loop variant left; */
    do {
        const int32_t sample = samples[at];
        const int32_t difference = sample - last;
        differences += tcuq_health_square(difference);
        squares += tcuq_health_square(sample);
        sum += sample;
        last = sample;
        if (difference == 0) {
            channel->repeats++;
        }
        at += width;
        left--;
    } while (left != 0u);
    channel->sum = sum;
    channel->last = (int16_t)last;
    group->differences = differences;
    group->squares = squares;
}

void tcuq_health_fold_frames(tcuq_health *health, const int16_t *frames, uint32_t count)
{
    const uint32_t room = TCUQ_HEALTH_MAX_FRAMES - health->frames;
    const uint32_t taken = (count < room) ? count : room;
    if (taken == 0u) {
        return;
    }
    //@ assert health->width <= tcuq_cells(count, health->width) && tcuq_cells(taken, 0) == 0;
    if (health->frames == 0u) {
        tcuq_health_first(health, frames);
    }
    uint32_t c = 0u;
    /*@ loop invariant 0 <= g <= health->group_count && c == tcuq_before(health->groups, g);
        loop invariant tcuq_health_kept{Pre, Here}(health) && health->frames == TCUQ_FRAMES;
        loop invariant tcuq_channel_sums_ok(health->channels, 0, c, TCUQ_FRAMES + taken);
        loop invariant tcuq_channel_sums_ok(health->channels, c, TCUQ_WIDTH, TCUQ_FRAMES);
        loop invariant tcuq_group_sums_ok(health->groups, 0, g, TCUQ_FRAMES + taken);
        loop invariant tcuq_group_sums_ok(health->groups, g, TCUQ_GROUPS, TCUQ_FRAMES);
        loop assigns g, c, TCUQ_LOOP_CHANNELS, TCUQ_LOOP_GROUPS;
        loop variant health->group_count - g; */
    for (uint32_t g = 0u; g < health->group_count; g++) {
        /*@ loop invariant 0 <= left <= health->groups[g].channels;
            loop invariant c == tcuq_before(health->groups, g) + health->groups[g].channels - left;
            loop invariant tcuq_health_kept{Pre, Here}(health) && health->frames == TCUQ_FRAMES;
            loop invariant tcuq_channel_sums_ok(health->channels, 0, c, TCUQ_FRAMES + taken);
            loop invariant tcuq_channel_sums_ok(health->channels, c, TCUQ_WIDTH, TCUQ_FRAMES);
            loop invariant tcuq_group_sums_ok(health->groups, 0, g, TCUQ_FRAMES + taken);
            loop invariant tcuq_group_sums_ok(health->groups, g + 1, TCUQ_GROUPS, TCUQ_FRAMES);
            loop invariant health->groups[g].differences <=
              0x4000000000 * TCUQ_FRAMES + 0x100000000 * tcuq_cells(taken, health->groups[g].channels - left);
            loop invariant health->groups[g].squares <=
              0x1000000000 * TCUQ_FRAMES + 0x40000000 * tcuq_cells(taken, health->groups[g].channels - left);
            loop assigns left, c, TCUQ_LOOP_CHANNELS, TCUQ_LOOP_GROUPS;
            loop variant left; */
        for (uint32_t left = health->groups[g].channels; left != 0u; left--) {
            //@ assert c < health->width && tcuq_cells(taken, health->groups[g].channels - left) <= 64 * taken;
            //@ assert tcuq_cells(taken, health->groups[g].channels - left + 1) == tcuq_cells(taken, health->groups[g].channels - left) + taken;
            //@ assert \forall integer k; 0 <= k < taken ==> 0 <= tcuq_cells(k, health->width) && tcuq_cells(k, health->width) + health->width <= tcuq_cells(count, health->width);
            tcuq_health_add(&health->groups[g], &health->channels[c], &frames[c], health->width, taken);
            c++;
        }
    }
    health->frames = (uint16_t)(health->frames + taken);
}

/* (integer, Q10) log2 of 1..2^64-1, rounded down between 33 points; error <= 1.4 last bits. */
static uint32_t tcuq_health_log2(uint64_t value)
{
    const uint32_t high = (uint32_t)(value >> 32);
    if (high == 0u) {
        return tcuq_log2_q10((uint32_t)value);
    }
    const uint32_t shift = 32u - tcuq_leading_zeros(high);
    return tcuq_log2_q10((uint32_t)(value >> shift)) + (shift << 10);
}

/* (integers, Q10) 1/2 log2(1 + part / unit), rounded to the nearest; unit >= 1. */
static int16_t tcuq_health_half_log2(uint64_t part, uint32_t unit)
{
    const uint32_t difference = tcuq_health_log2(unit + part) - tcuq_health_log2(unit);
    return (int16_t)((difference + 1u) >> 1);
}

/* The squared length of the sum vector, in 1 / 2^shift. */
static uint64_t tcuq_health_length(const tcuq_health_channel *channels, uint32_t count, uint32_t shift)
{
    uint64_t length = 0u;
    /*@ loop invariant 0 <= c <= count && length <= 0x100000000000000 * c;
        loop assigns c, length;
        loop variant count - c; */
    for (uint32_t c = 0u; c < count; c++) {
        const int64_t sum = channels[c].sum;
        //@ assert 0 <= sum * sum <= 0x4000000000000000 && (shift == 0 ==> sum * sum <= 0x100000000000000);
        length += (uint64_t)(sum * sum) >> shift;
    }
    return length;
}

/* (counts, Q10) The largest share of repeats among the pairs of successive samples, rounded to the nearest. */
static int16_t tcuq_health_share(const tcuq_health_channel *channels, uint32_t count, uint32_t pairs)
{
    uint32_t most = 1u; /* the first sample's */
    /*@ loop invariant 0 <= c <= count && 1 <= most <= pairs + 1;
        loop assigns c, most;
        loop variant count - c; */
    for (uint32_t c = 0u; c < count; c++) {
        const uint32_t repeats = channels[c].repeats;
        most = (repeats > most) ? repeats : most;
    }
    return (int16_t)((((most - 1u) << 10) + (pairs >> 1)) / pairs);
}

/* The statistics of a group, whose channels begin here. */
static void tcuq_health_write(const tcuq_health_group *group, const tcuq_health_channel *channels,
                              uint32_t frames, int16_t *statistics)
{
    const uint32_t shift = (frames < TCUQ_HEALTH_LONG) ? (uint32_t)0u : (uint32_t)TCUQ_HEALTH_SHIFT;
    const uint32_t pairs = (frames == 1u) ? 1u : (frames - 1u);
    //@ assert 1 <= frames * frames <= 65535 * 65535 && (shift == 6 ==> 0x4000000 <= frames * frames);
    const uint32_t unit = (frames * frames) >> shift;
    //@ assert 1 <= unit;
    const uint64_t length = tcuq_health_length(channels, group->channels, shift);
    statistics[0] = tcuq_health_half_log2(length, unit);
    statistics[1] = tcuq_health_half_log2(group->differences, pairs);
    statistics[2] = tcuq_health_share(channels, group->channels, pairs);
    if (group->spread) {
        //@ assert (group->squares >> shift) <= (shift == 0 ? 0x1000000000 * 8191 : 0x40000000 * 65535);
        //@ assert frames * (group->squares >> shift) <= (shift == 0 ? 8191 : 65535) * (group->squares >> shift);
        //@ assert frames * (uint64_t)(group->squares >> shift) <= 0x4000000000000000;
        //@ assert 0 <= (uint64_t)((uint64_t)(1u << shift) - 1u) <= 63;
        //@ assert 0 <= (group->squares & (uint64_t)((uint64_t)(1u << shift) - 1u)) <= 63;
        //@ assert 0 <= (uint64_t)(group->squares & (uint64_t)((uint64_t)(1u << shift) - 1u)) <= 63;
        //@ assert frames * (uint64_t)(group->squares & (uint64_t)((uint64_t)(1u << shift) - 1u)) <= 65535 * 63;
        /* frames * squares >> shift, whose product need not fit */
        const uint64_t whole = frames * (group->squares >> shift);
        const uint64_t rest = (frames * (group->squares & (((uint64_t)1u << shift) - 1u))) >> shift;
        //@ assert rest <= 65535 * 63;
        statistics[3] = tcuq_health_half_log2((whole + rest) - length, unit);
    }
}

/*@ assigns \nothing; */
static inline uint32_t tcuq_turned(uint32_t value)
{
    return ((value & 0x07FFFFFFu) << 5) | (value >> 27);
}

/* A group's sums folded into 32 bits, not 0: windows with the same are taken for the same. */
/*@ requires \valid_read(group) && \valid_read(channels + (0 .. group->channels - 1));
    assigns \nothing;
    ensures \result >= 1; */
static uint32_t tcuq_health_folded(const tcuq_health_group *group, const tcuq_health_channel *channels)
{
    uint32_t folded = (uint32_t)(group->differences & 0xFFFFFFFFu) ^ tcuq_turned((uint32_t)(group->squares & 0xFFFFFFFFu));
    /*@ loop invariant 0 <= c <= group->channels;
        loop assigns c, folded;
        loop variant group->channels - c; */
    for (uint32_t c = 0u; c < group->channels; c++) {
        folded = tcuq_turned(folded) ^ (uint32_t)channels[c].sum;
    }
    return folded | 1u;
}

bool tcuq_health_finish(tcuq_health *health, int16_t *statistics)
{
    const bool given = health->frames != 0u;
    const uint32_t frames = given ? health->frames : 1u;
    const tcuq_health_channel *channels = health->channels;
    int16_t *at = statistics;
    /*@ loop invariant 0 <= g <= health->group_count;
        loop invariant channels == health->channels + tcuq_before(health->groups, g);
        loop invariant at == statistics + tcuq_numbers(health->groups, g);
        loop invariant tcuq_health_kept{Pre, Here}(health);
        loop invariant tcuq_health_sums_ok(health);
        loop assigns g, channels, at, TCUQ_LOOP_GROUPS, statistics[0 .. TCUQ_MAX_HEALTH - 1];
        loop variant health->group_count - g; */
    for (uint32_t g = 0u; g < health->group_count; g++) {
        tcuq_health_group *group = &health->groups[g];
        //@ assert \forall integer k; 0 <= k < group->channels ==> 0 <= tcuq_before(health->groups, g) + k < health->width;
        tcuq_health_write(group, channels, frames, at);
        if (given) {
            const uint32_t folded = tcuq_health_folded(group, channels);
            if (folded == group->before) {
                at[2] = 1024;
            }
            group->before = folded;
        }
        at = &at[group->spread ? 4u : 3u];
        channels = &channels[group->channels];
    }
    tcuq_health_begin(health);
    return given;
}

#endif
