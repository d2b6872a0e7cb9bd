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
    uint32_t entropy_q17 = 0u;
    uint32_t sum = 0u;
    uint32_t first = 0u;
    uint32_t second = 0u;
    //@ ghost uint32_t i = 0;
    /*@ loop invariant i < classes && at == posterior + i;
        loop invariant \base_addr(label) == \base_addr(posterior) && 1 <= label - posterior <= classes;
        loop invariant second <= first <= sum <= 255 * i && first <= 255 && entropy_q17 <= 262140 * i;
        loop assigns i, at, label, entropy_q17, sum, first, second;
        loop variant classes - i; */
    do {
        const uint32_t p = *at;
        at++;
        if (TCUQ_UNLIKELY(p != 0u)) { /* 0: most classes of a sharp posterior, and their entropy */
            sum += p;
            entropy_q17 = tcuq_add_between(p >> 1, (2u * p) & 2u, entropy_q17);
            if (p > second) {
                second = p;
                if (p > first) {
                    second = first;
                    first = p;
                    label = at;
                }
            }
        }
        //@ ghost i++;
    } while (at != end);
    const uint32_t entropy_q12 = (entropy_q17 + 16u) >> 5;
    read->sum = sum;
    read->label = (uint16_t)(label - posterior - 1);
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
