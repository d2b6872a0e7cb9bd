/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: groups of channels, what their sums are within a window, and what each
 * function of tcuq_health.h asks, changes and leaves. */
#ifndef TCUQ_ACSL_SAMPLES_H
#define TCUQ_ACSL_SAMPLES_H

/* As tcuq_shifts, for sums of 64 bits; the last: x shifted so that its 32 leading bits are left. */
/*@ axiomatic tcuq_long_shifts {
      axiom right_6: \forall uint64_t x; 64 * (x >> 6) <= x < 64 * (x >> 6) + 64;
      axiom right_32: \forall uint64_t x; 0x100000000 * (x >> 32) <= x < 0x100000000 * (x >> 32) + 0x100000000;
      axiom left_6: \forall uint32_t x; x << 6 == 64 * x;
      axiom low_64: \forall uint64_t x; (x & 0xFFFFFFFFFFFFFFFF) == x;
      axiom leading_32: \forall uint64_t x, k; 0 <= k <= 31 && 0x80000000 <= ((x >> 32) << k) && ((x >> 32) << k) <= 0xFFFFFFFF ==>
        0x80000000 <= (x >> (32 - k)) <= 0xFFFFFFFF;
    } */

/* Channels of the first n groups, and statistics. Of each, the third axiom follows from the two before it by
 * induction. */
/*@ axiomatic tcuq_health_places {
      logic integer tcuq_before{L}(tcuq_health_group *g, integer n) reads g[0 .. n - 1].channels;
      axiom before_none{L}: \forall tcuq_health_group *g; tcuq_before(g, 0) == 0;
      axiom before_next{L}: \forall tcuq_health_group *g, integer n;
        0 <= n ==> tcuq_before(g, n + 1) == tcuq_before(g, n) + g[n].channels;
      axiom kept_before{A, B}: \forall tcuq_health_group *g, integer n;
        (\forall integer k; 0 <= k < n ==> \at(g[k].channels, A) == \at(g[k].channels, B)) ==>
        tcuq_before{A}(g, n) == tcuq_before{B}(g, n);

      logic integer tcuq_numbers{L}(tcuq_health_group *g, integer n) reads g[0 .. n - 1].spread;
      axiom numbers_none{L}: \forall tcuq_health_group *g; tcuq_numbers(g, 0) == 0;
      axiom numbers_next{L}: \forall tcuq_health_group *g, integer n;
        0 <= n ==> tcuq_numbers(g, n + 1) == tcuq_numbers(g, n) + (g[n].spread ? 4 : 3);
      axiom kept_numbers{A, B}: \forall tcuq_health_group *g, integer n;
        (\forall integer k; 0 <= k < n ==> \at(g[k].spread, A) == \at(g[k].spread, B)) ==>
        tcuq_numbers{A}(g, n) == tcuq_numbers{B}(g, n);
    } */

/* What stays as it is while the sums change. */
/*@ predicate tcuq_groups_kept{A, B}(tcuq_health_group *g, integer n) = \forall integer k; 0 <= k < n ==>
      \at(g[k].channels, A) == \at(g[k].channels, B) && \at(g[k].spread, A) == \at(g[k].spread, B);

    predicate tcuq_channels_kept{A, B}(tcuq_health_channel *c, integer n) = \forall integer k; 0 <= k < n ==>
      \at(c[k].sum, A) == \at(c[k].sum, B) && \at(c[k].repeats, A) == \at(c[k].repeats, B);

    predicate tcuq_health_kept{A, B}(tcuq_health *h) =
      \at(h->groups, A) == \at(h->groups, B) && \at(h->channels, A) == \at(h->channels, B) &&
      \at(h->width, A) == \at(h->width, B) && \at(h->group_count, A) == \at(h->group_count, B) &&
      tcuq_groups_kept{A, B}(\at(h->groups, A), \at(h->group_count, A)); */

/* A group's channels come after those of the groups before it, and none is beyond the width; so its statistics. */
/*@ predicate tcuq_health_groups_ok(tcuq_health_group *g, integer n, integer width, integer numbers) =
      \forall integer k; 0 <= k < n ==> 1 <= g[k].channels <= TCUQ_HEALTH_MAX_CHANNELS &&
        0 <= tcuq_before(g, k) && tcuq_before(g, k) + g[k].channels <= width &&
        0 <= tcuq_numbers(g, k) && tcuq_numbers(g, k) + (g[k].spread ? 4 : 3) <= numbers;

    predicate tcuq_health_memory(tcuq_health *h) =
      \valid(h) && \valid(h->groups + (0 .. h->group_count - 1)) &&
      \valid(h->channels + (0 .. h->width - 1)) && \separated(h, h->groups + (0 .. h->group_count - 1)) &&
      \separated(h, h->channels + (0 .. h->width - 1)) &&
      \separated(h->groups + (0 .. h->group_count - 1), h->channels + (0 .. h->width - 1));

    predicate tcuq_health_layout(tcuq_health *h) =
      tcuq_health_memory(h) && 1 <= h->group_count <= 5 &&
      tcuq_health_groups_ok(h->groups, h->group_count, h->width, TCUQ_MAX_HEALTH);

    predicate tcuq_channel_sums_ok(tcuq_health_channel *c, integer from, integer end, integer frames) =
      \forall integer k; from <= k < end ==>
        -32768 * frames <= c[k].sum <= 32767 * frames && c[k].repeats <= frames;

    predicate tcuq_group_sums_ok(tcuq_health_group *g, integer from, integer end, integer frames) =
      \forall integer k; from <= k < end ==>
        g[k].differences <= 0x4000000000 * frames && g[k].squares <= 0x1000000000 * frames;

    predicate tcuq_health_sums_ok(tcuq_health *h) =
      tcuq_channel_sums_ok(h->channels, 0, h->width, h->frames) &&
      tcuq_group_sums_ok(h->groups, 0, h->group_count, h->frames); */

/* Inside tcuq_health_fold: what the window was before, and how far its loops are. */
#define TCUQ_FRAMES \at(health->frames, Pre)
#define TCUQ_WIDTH \at(health->width, Pre)
#define TCUQ_GROUPS \at(health->group_count, Pre)
#define TCUQ_PLACE tcuq_before(health->groups, TCUQ_GROUPS - groups)
#define TCUQ_INSIDE (TCUQ_PLACE + group->channels - channels)

#define TCUQ_GROUP_SUMS health->groups[0 .. health->group_count - 1]
#define TCUQ_SAMPLE_SUMS health->channels[0 .. health->width - 1], TCUQ_GROUP_SUMS
/* The same inside a loop that changes them. */
#define TCUQ_LOOP_CHANNELS \at(health->channels, Pre)[0 .. \at(health->width, Pre) - 1]
#define TCUQ_LOOP_GROUPS \at(health->groups, Pre)[0 .. \at(health->group_count, Pre) - 1]

/*@ requires tcuq_health_layout(health) && tcuq_health_sums_ok(health);
    requires \valid_read(frame + (0 .. health->width - 1));
    requires \separated(frame + (0 .. health->width - 1), health,
      health->channels + (0 .. health->width - 1), health->groups + (0 .. health->group_count - 1));
    requires health->width == tcuq_before(health->groups, health->group_count);
    assigns health->frames, TCUQ_SAMPLE_SUMS;
    ensures tcuq_health_kept{Old, Here}(health) && tcuq_health_sums_ok(health); */
void tcuq_health_fold(tcuq_health *health, const int16_t *frame);

/*@ requires health != \null ==> \valid(health);
    requires health != \null && health->groups != \null ==>
      \valid(health->groups + (0 .. health->group_count - 1));
    requires health != \null && health->groups != \null && health->channels != \null ==>
      \valid(health->channels + (0 .. tcuq_before(health->groups, health->group_count) - 1));
    requires health != \null ==> \separated(health, health->groups + (0 .. health->group_count - 1)) &&
      \separated(health, health->channels + (0 .. tcuq_before(health->groups, health->group_count) - 1)) &&
      \separated(health->groups + (0 .. health->group_count - 1),
        health->channels + (0 .. tcuq_before(health->groups, health->group_count) - 1));
    assigns *health, health->groups[0 .. 254], health->channels[0 .. 1023];
    ensures \result == TCUQ_OK ==> health->frames == 0 && tcuq_health_layout(health) && tcuq_health_sums_ok(health);
    ensures \result == TCUQ_OK ==> health->width == tcuq_before(health->groups, health->group_count); */
tcuq_status tcuq_health_init(tcuq_health *health);

/*@ requires tcuq_health_layout(health) && tcuq_health_sums_ok(health);
    requires health->width == tcuq_before(health->groups, health->group_count) && health->width <= 1024;
    requires \valid_read(frames + (0 .. tcuq_cells(count, health->width) - 1));
    requires \separated(frames + (0 .. tcuq_cells(count, health->width) - 1), health,
      health->channels + (0 .. health->width - 1), health->groups + (0 .. health->group_count - 1));
    assigns health->frames, TCUQ_SAMPLE_SUMS;
    ensures tcuq_health_kept{Old, Here}(health) && tcuq_health_sums_ok(health); */
void tcuq_health_fold_frames(tcuq_health *health, const int16_t *frames, uint32_t count);

/*@ requires tcuq_health_layout(health) && tcuq_health_sums_ok(health);
    requires \valid(statistics + (0 .. TCUQ_MAX_HEALTH - 1));
    requires \separated(statistics + (0 .. TCUQ_MAX_HEALTH - 1), health,
      health->channels + (0 .. health->width - 1), health->groups + (0 .. health->group_count - 1));
    assigns health->frames, TCUQ_SAMPLE_SUMS, statistics[0 .. TCUQ_MAX_HEALTH - 1];
    ensures health->frames == 0 && tcuq_health_kept{Old, Here}(health) && tcuq_health_sums_ok(health);
    ensures \result == (\old(health->frames) != 0); */
bool tcuq_health_finish(tcuq_health *health, int16_t *statistics);

/*@ requires -65535 <= value <= 65535;
    assigns \nothing;
    ensures \result == value * value && 0 <= \result <= 0xFFFE0001;
    ensures -32768 <= value <= 32767 ==> \result <= 0x40000000; */
static inline uint64_t tcuq_health_square(int32_t value);

/*@ requires tcuq_health_memory(health);
    assigns health->frames, TCUQ_SAMPLE_SUMS;
    ensures health->frames == 0 && tcuq_health_kept{Old, Here}(health) && tcuq_health_sums_ok(health); */
static void tcuq_health_begin(tcuq_health *health);

/*@ requires tcuq_health_memory(health) && \valid_read(frame + (0 .. health->width - 1));
    requires \separated(frame + (0 .. health->width - 1), health,
      health->channels + (0 .. health->width - 1));
    assigns health->channels[0 .. health->width - 1];
    ensures tcuq_channels_kept{Old, Here}(health->channels, health->width); */
static void tcuq_health_first(const tcuq_health *health, const int16_t *frame);

/*@ requires \valid(group) && \valid(channel) && 1 <= count <= 65535 && width <= 1024;
    requires \forall integer k; 0 <= k < count ==> \valid_read(samples + tcuq_cells(k, width));
    requires \separated(group, channel);
    requires -32768 * (65535 - count) <= channel->sum <= 32767 * (65535 - count);
    requires channel->repeats + count <= 65535;
    requires group->differences <= 0x40000000000000 && group->squares <= 0x10000000000000;
    assigns group->differences, group->squares, *channel;
    ensures \old(channel->sum) - 32768 * count <= channel->sum <= \old(channel->sum) + 32767 * count;
    ensures channel->repeats <= \old(channel->repeats) + count;
    ensures group->differences <= \old(group->differences) + 0x100000000 * count;
    ensures group->squares <= \old(group->squares) + 0x40000000 * count; */
static void tcuq_health_add(tcuq_health_group *group, tcuq_health_channel *channel, const int16_t *samples,
                            uint32_t width, uint32_t count);

/*@ requires 1 <= value <= 0x7FFFFFFFFFFFFFFF;
    assigns \nothing;
    ensures value <= UINT32_MAX ==> \result == tcuq_log2_of(value);
    ensures UINT32_MAX < value ==> 32768 <= \result <= 64511; */
static uint32_t tcuq_health_log2(uint64_t value);

/*@ requires 1 <= unit && part <= 0x7000000000000000; assigns \nothing; ensures 0 <= \result; */
static int16_t tcuq_health_half_log2(uint64_t part, uint32_t unit);

/*@ requires \valid_read(channels + (0 .. count - 1)) && count <= 64 && (shift == 0 || shift == 6);
    requires \forall integer k; 0 <= k < count ==>
      (shift == 0 ? -0x10000000 <= channels[k].sum <= 0x10000000 : -0x80000000 <= channels[k].sum);
    assigns \nothing;
    ensures 0 <= \result <= 0x4000000000000000; */
static uint64_t tcuq_health_length(const tcuq_health_channel *channels, uint32_t count, uint32_t shift);

/*@ requires \valid_read(channels + (0 .. count - 1)) && count <= 64 && 1 <= pairs <= 65534;
    requires \forall integer k; 0 <= k < count ==> channels[k].repeats <= pairs + 1;
    assigns \nothing;
    ensures 0 <= \result <= 1024; */
static int16_t tcuq_health_share(const tcuq_health_channel *channels, uint32_t count, uint32_t pairs);

/*@ requires \valid_read(group) && 1 <= group->channels <= 64 && 1 <= frames <= 65535;
    requires \valid_read(channels + (0 .. group->channels - 1));
    requires \forall integer k; 0 <= k < group->channels ==>
      -32768 * frames <= channels[k].sum <= 32767 * frames && channels[k].repeats <= frames;
    requires group->differences <= 0x4000000000 * frames && group->squares <= 0x1000000000 * frames;
    requires \valid(statistics + (0 .. (group->spread ? 3 : 2)));
    requires \separated(statistics + (0 .. (group->spread ? 3 : 2)), group);
    requires \separated(statistics + (0 .. (group->spread ? 3 : 2)), channels + (0 .. group->channels - 1));
    assigns statistics[0 .. (group->spread ? 3 : 2)]; */
static void tcuq_health_write(const tcuq_health_group *group, const tcuq_health_channel *channels,
                              uint32_t frames, int16_t *statistics);

#endif
