/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the posterior: its sum, two largest, label and entropy, and mixtures with past ones. */
#include "tcuq_internal.h"

/* (Q17) sum + -x log2 x of x = (point + quarters / 4) / 128, linear between points: concave, so a
 * divergence is never negative but for rounding, and 0 for equal posteriors. */
/*@ requires point <= 128 && quarters <= 3 && sum <= 0x40000000;
    assigns \nothing;
    ensures sum <= \result <= sum + 262140; */
static inline uint32_t tcuq_add_between(uint32_t point, uint32_t quarters, uint32_t sum)
{
#if TCUQ_DSP /* both points in one load, weighted and added in one multiplication */
    static const uint32_t weights[4] = {0x00000004u, 0x00010003u, 0x00020002u, 0x00030001u};
    uint32_t points;
    __builtin_memcpy(&points, &tcuq_xlog2x_q15[point], 4);
    return (uint32_t)__smlad((int16x2_t)points, (int16x2_t)weights[quarters], (int32_t)sum);
#else
    const uint16_t *low = &tcuq_xlog2x_q15[point];
    //@ assert quarters == 0 || quarters == 1 || quarters == 2 || quarters == 3;
    return sum + low[0] * (4u - quarters) + low[1] * quarters;
#endif
}

void tcuq_read_posterior(const uint8_t *posterior, uint32_t classes, tcuq_posterior *read)
{
    const uint8_t *end = &posterior[classes];
    const uint8_t *at = posterior;
    const uint8_t *label = &posterior[1]; /* behind the first largest */
    const uint8_t *second_label = label;
    uint32_t zeros = classes;
    uint32_t entropy_q17 = 0u;
    uint32_t sum = 0u;
    uint32_t first = 0u;
    uint32_t second = 0u;
    //@ ghost uint32_t i = 0;
    /*@ loop invariant i < classes && at == posterior + i;
        loop invariant \base_addr(label) == \base_addr(posterior) && 1 <= label - posterior <= classes;
        loop invariant \base_addr(second_label) == \base_addr(posterior) && 1 <= second_label - posterior <= classes;
        loop invariant first != 0 ==> label - posterior <= i;
        loop invariant second != 0 ==> second_label != label;
        loop invariant classes - i <= zeros <= classes;
        loop invariant second <= first <= sum <= 255 * i && first <= 255 && entropy_q17 <= 262140 * i;
        loop assigns i, at, label, second_label, zeros, entropy_q17, sum, first, second;
        loop variant classes - i; */
    do {
        const uint32_t p = *at;
        at++;
        if (TCUQ_UNLIKELY(p != 0u)) { /* 0: most classes of a sharp posterior, and their entropy */
            sum += p;
            zeros--;
            entropy_q17 = tcuq_add_between(p >> 1, (2u * p) & 2u, entropy_q17);
            if (p > second) {
                if (p > first) {
                    second = first;
                    second_label = label;
                    first = p;
                    label = at;
                } else {
                    second = p;
                    second_label = at;
                }
            }
        }
        //@ ghost i++;
    } while (at != end);
    const uint32_t entropy_q12 = (entropy_q17 + 16u) >> 5;
    read->sum = sum;
    read->one_q32 = (sum != 0u) ? UINT32_MAX / sum : 0u;
    read->label = (uint16_t)(label - posterior - 1);
    read->second_label = (uint16_t)(second_label - posterior - 1);
    read->zeros = (uint16_t)zeros;
    read->first = (uint8_t)first;
    read->second = (uint8_t)second;
    read->entropy_q12 = (uint16_t)((entropy_q12 > 65535u) ? 65535u : entropy_q12);
}

/* (Q17) Twice the entropy of the mixture of two posteriors. */
uint32_t tcuq_mixture_q17(const uint8_t *now, const uint8_t *past, uint32_t classes)
{
    const uint8_t *end = &now[classes];
    uint32_t sum = 0u;
#if TCUQ_FOURS /* four classes at a time */
    for (uint32_t quads = classes / 4u; quads != 0u; quads--) {
        uint32_t a;
        uint32_t b;
        __builtin_memcpy(&a, now, 4);
        __builtin_memcpy(&b, past, 4);
        now += 4;
        past += 4;
        if (TCUQ_UNLIKELY((a | b) != 0u)) {
            const uint32_t halved = __uhadd8(a, b); /* (a + b) / 2 in each byte */
            const uint32_t low = __uadd8(a, b);     /* a + b but for its highest bit */
            sum = tcuq_add_between((halved >> 1) & 127u, low & 3u, sum);
            sum = tcuq_add_between((halved >> 9) & 127u, (low >> 8) & 3u, sum);
            sum = tcuq_add_between((halved >> 17) & 127u, (low >> 16) & 3u, sum);
            sum = tcuq_add_between(halved >> 25, (low >> 24) & 3u, sum);
        }
    }
#endif
    //@ ghost uint32_t i = 0;
    /*@ loop invariant i <= classes && now == \at(now, Pre) + i && past == \at(past, Pre) + i;
        loop invariant sum <= 262140 * i;
        loop assigns i, now, past, sum;
        loop variant classes - i; */
    while (now != end) {
        const uint32_t both = (uint32_t)*now + *past;
        if (TCUQ_UNLIKELY(both != 0u)) {
            sum = tcuq_add_between(both >> 2, both & 3u, sum);
        }
        now++;
        past++;
        //@ ghost i++;
    }
    return sum;
}

#if TCUQ_WITH_ANCHORED

/* (Q15) a class's share of the posterior, where a byte of 0 is half a byte. */
static uint32_t tcuq_share_of(uint32_t byte, uint32_t one_q32, uint32_t scale_q15)
{
    return (byte == 0u) ? scale_q15 >> 9 : (((byte * one_q32) >> 17) * scale_q15) >> 15;
}

/* (Q8) how much more probable a class is than without the past. */
static uint32_t tcuq_ratio_q8(uint32_t change_q8, uint32_t stay_q8, uint32_t held_q15)
{
    return change_q8 + ((stay_q8 * held_q15) >> 15);
}

/* The two most probable classes of those offered, and their probabilities in a common unit. */
typedef struct {
    uint16_t labels[2];
    uint32_t weights_q23[2];
} tcuq_top;

static void tcuq_offer(tcuq_top *top, uint16_t label, uint32_t weight_q23)
{
    if ((label == top->labels[0]) || (label == top->labels[1]) || (weight_q23 <= top->weights_q23[1])) {
        return;
    }
    const uint32_t place = (weight_q23 > top->weights_q23[0]) ? 0u : 1u;
    if (place == 0u) {
        top->labels[1] = top->labels[0];
        top->weights_q23[1] = top->weights_q23[0];
    }
    top->labels[place] = label;
    top->weights_q23[place] = weight_q23;
}

/* The two kept classes become those that are most probable now. */
static void tcuq_keep(tcuq_core *core, const tcuq_top *top, uint32_t whole_q23)
{
    const uint32_t zeros = tcuq_leading_zeros(whole_q23);
    const uint32_t whole = (whole_q23 << zeros) >> 15;
    for (uint32_t i = 0u; i < 2u; i++) {
        core->kept[i] = top->labels[i];
        core->held_q15[i] = (uint16_t)((top->weights_q23[i] << zeros) / whole);
    }
}

/* What the past expects of a class: of the two kept ones, or of any other. */
typedef struct {
    uint32_t kept_q8[2];
    uint32_t rest_q8;
} tcuq_ratios;

static void tcuq_expect(const tcuq_monitor *monitor, const tcuq_posterior *read, tcuq_ratios *ratios)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    if (core->filled == 0u) { /* no past: all classes are as probable as without it */
        ratios->kept_q8[0] = 256u;
        ratios->kept_q8[1] = 256u;
        ratios->rest_q8 = 256u;
        core->kept[0] = read->label;
        core->kept[1] = (read->second != 0u) ? read->second_label : ((read->label == 0u) ? 1u : 0u);
        return;
    }
    const uint32_t left_q15 = 32768u - core->held_q15[0] - core->held_q15[1];
    ratios->kept_q8[0] = tcuq_ratio_q8(profile->change_q8, profile->stay_q8, core->held_q15[0]);
    ratios->kept_q8[1] = tcuq_ratio_q8(profile->change_q8, profile->stay_q8, core->held_q15[1]);
    ratios->rest_q8 = tcuq_ratio_q8(profile->change_q8, profile->rest_q8, left_q15);
}

static uint32_t tcuq_ratio_of(const tcuq_core *core, const tcuq_ratios *ratios, uint16_t label)
{
    const uint32_t other = (label == core->kept[1]) ? ratios->kept_q8[1] : ratios->rest_q8;
    return (label == core->kept[0]) ? ratios->kept_q8[0] : other;
}

/* A class stays with some probability, else any class follows. The posterior weighed by what the past then
 * expects is kept for the two most probable classes; the rest shares what they leave. The contradiction is how
 * much more the past expects the other classes than the label (log2, Q10). */
int16_t tcuq_contradiction(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_posterior *read)
{
    tcuq_core *core = monitor->core;
    const uint32_t one_q32 = read->one_q32;
    const uint32_t scale_q15 = ((uint32_t)512u << 15) / (512u + read->zeros);
    tcuq_ratios ratios;
    tcuq_expect(monitor, read, &ratios);
    const uint32_t share_0 = tcuq_share_of(posterior[core->kept[0]], one_q32, scale_q15);
    const uint32_t share_1 = tcuq_share_of(posterior[core->kept[1]], one_q32, scale_q15);
    const uint32_t share = tcuq_share_of(read->first, one_q32, scale_q15);
    const uint32_t ratio = tcuq_ratio_of(core, &ratios, read->label);
    const uint32_t first_q23 = ratios.kept_q8[0] * share_0;
    const uint32_t second_q23 = ratios.kept_q8[1] * share_1;
    /* Shares are rounded down: those of two classes add up to at most 1. */
    const uint32_t whole_q23 = first_q23 + second_q23 + ratios.rest_q8 * (32768u - share_0 - share_1);
    const uint32_t turned = (second_q23 > first_q23) ? 1u : 0u;
    tcuq_top top = {{core->kept[turned], core->kept[1u - turned]},
                    {(turned != 0u) ? second_q23 : first_q23, (turned != 0u) ? first_q23 : second_q23}};
    tcuq_offer(&top, read->label, ratio * share);
    if (read->second != 0u) {
        const uint32_t second = tcuq_share_of(read->second, one_q32, scale_q15);
        tcuq_offer(&top, read->second_label, tcuq_ratio_of(core, &ratios, read->second_label) * second);
    }
    tcuq_keep(core, &top, whole_q23);
    return (int16_t)((int32_t)tcuq_log2_q10(whole_q23 - ratio * share) -
                     (int32_t)tcuq_log2_q10(ratio * (32768u - share)));
}

#endif
