/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone, as tcuq_acsl.h: groups of channels, what their sums are within a window, and what each
 * function of tcuq_health.h asks, changes and leaves. */
#ifndef TCUQ_ACSL_SAMPLES_H
#define TCUQ_ACSL_SAMPLES_H

/*@ axiomatic tcuq_health_places {
      logic integer tcuq_before{L}(tcuq_health_group *g, integer n) reads g[0 .. n - 1].channels;
      axiom before_none{L}: \forall tcuq_health_group *g; tcuq_before(g, 0) == 0;
      axiom before_next{L}: \forall tcuq_health_group *g, integer n;
        0 <= n ==> tcuq_before(g, n + 1) == tcuq_before(g, n) + g[n].channels;
    } */

/* A group's channels come after those of the groups before it, and none is beyond the width. */
/*@ predicate tcuq_health_groups_ok(tcuq_health_group *g, integer n, integer width) =
      \forall integer k; 0 <= k < n ==> 1 <= g[k].channels <= TCUQ_HEALTH_MAX_CHANNELS &&
        0 <= tcuq_before(g, k) && tcuq_before(g, k) + g[k].channels <= width;

    predicate tcuq_health_memory(tcuq_health *h) =
      \valid(h) && \valid(h->groups + (0 .. h->group_count - 1)) &&
      \valid(h->channels + (0 .. h->width - 1)) && \separated(h, h->groups + (0 .. h->group_count - 1)) &&
      \separated(h, h->channels + (0 .. h->width - 1)) &&
      \separated(h->groups + (0 .. h->group_count - 1), h->channels + (0 .. h->width - 1));

    predicate tcuq_health_layout(tcuq_health *h) =
      tcuq_health_memory(h) && 1 <= h->group_count <= 5 &&
      tcuq_health_groups_ok(h->groups, h->group_count, h->width);

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

#define TCUQ_SAMPLE_SUMS \
    health->channels[0 .. health->width - 1], health->groups[0 .. health->group_count - 1].differences, \
        health->groups[0 .. health->group_count - 1].squares

/*@ requires tcuq_health_layout(health) && tcuq_health_sums_ok(health);
    requires \valid_read(frame + (0 .. health->width - 1));
    requires \separated(frame + (0 .. health->width - 1), health,
      health->channels + (0 .. health->width - 1), health->groups + (0 .. health->group_count - 1));
    requires health->width == tcuq_before(health->groups, health->group_count);
    assigns health->frames, TCUQ_SAMPLE_SUMS;
    ensures tcuq_health_sums_ok(health); */
void tcuq_health_fold(tcuq_health *health, const int16_t *frame);

#endif
