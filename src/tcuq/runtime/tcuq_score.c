/* SPDX-License-Identifier: Apache-2.0 */
/* Score: signals to one risk in 0..16384, and to novelty in bits. */
#include "tcuq_internal.h"

/* The paper's: mix · sigmoid(weights · signals + bias) + (1 - mix) · (1 - confidence). */
/*@ requires \valid_read(profile) && \valid_read(signals);
    requires tcuq_weights_ok(profile) && signals->confidence_q16 <= 65536;
    assigns \nothing;
    ensures \result <= TCUQ_RISK_LEVELS; */
static uint16_t tcuq_score_combined(const tcuq_profile *profile, const tcuq_signals *signals)
{
    int32_t logit_q16 = profile->bias_q16;
    /*@ loop invariant 0 <= i <= 4;
        loop invariant -0x20000000 - 0x8000000 * i <= logit_q16 <= 0x20000000 + 0x8000000 * i;
        loop assigns i, logit_q16;
        loop variant 4 - i; */
    TCUQ_UNROLL_4
    for (uint8_t i = 0u; i < 4u; i++) {
        /* Q15 · 2^-shift to Q16: |weight · value| < 2^31, quartered so that four fit. */
        //@ assert -32768 * 65535 <= profile->weights[i] * signals->values_q15[i] <= 32767 * 65535;
        const int32_t product = (int32_t)profile->weights[i] * (int32_t)(signals->values_q15[i]);
        logit_q16 += tcuq_floor_shift(product, (uint8_t)(profile->weight_shift - 1u));
    }
    const uint32_t uncertainty_q15 = tcuq_sigmoid(logit_q16) >> 1;
    const uint32_t short_q15 = (65536u - signals->confidence_q16) >> 1;
    const uint32_t mix = profile->mix_q15;
    //@ assert uncertainty_q15 <= 32768 && short_q15 <= 32768 && mix <= 32768;
    //@ assert 0 <= mix * uncertainty_q15 <= mix * 32768;
    //@ assert 0 <= (32768 - mix) * short_q15 <= (32768 - mix) * 32768;
    return (uint16_t)((mix * uncertainty_q15 + (32768u - mix) * short_q15 + 32768u) >> 16);
}

#if TCUQ_WITH_ANCHORED

/* (signal's unit, Q10) bits = -log2 survival: linear between points, by the slope beyond the last. */
/*@ requires \valid_read(term) && tcuq_term_given(term) && tcuq_term_ok(term) && -32768 <= value <= 32768;
    assigns \nothing; */
static uint32_t tcuq_surprise_q10(const tcuq_term *term, int32_t value)
{
    const int16_t *points = term->points;
    uint32_t count = (uint32_t)(term->point_count - 1u);
    if (value <= points[0]) {
        return term->bits_q10[0];
    }
    if (value >= points[count]) {
        const uint32_t beyond = (uint32_t)(value - points[count]);
        //@ assert 0 <= beyond <= 65536 && 0 <= term->slope_q8 <= 65535;
        //@ assert 0 <= beyond * term->slope_q8 <= 65536 * 65535;
        return term->bits_q10[count] + ((beyond * term->slope_q8) >> 8);
    }
    uint32_t low = 0u;
    /*@ loop invariant 1 <= count && low + count <= term->point_count - 1;
        loop invariant points[low] <= value < points[low + count];
        loop assigns low, count;
        loop variant count; */
    while (count > 1u) {
        const uint32_t half = count >> 1;
        //@ assert points[low + half] <= value ==> value < points[low + half + (count - half)];
        //@ assert value < points[low + half] ==> value < points[low + (count - half)];
        low += (points[low + half] <= value) ? half : 0u;
        count -= half;
    }
    const uint32_t width = (uint32_t)((int32_t)points[low + 1u] - points[low]);
    const uint32_t along = (uint32_t)(value - points[low]);
    const uint32_t rise = (uint32_t)term->bits_q10[low + 1u] - term->bits_q10[low];
    //@ assert 0 <= rise * along <= 65535 * 65535;
    //@ assert 0 <= (rise * along) / width <= rise * along;
    return term->bits_q10[low] + (rise * along) / width;
}

/* Sums over terms: of weight · clip(bits - dead, 0, cap), for the risk and for the expected error, and of
 * share · bits, for novelty. */
typedef struct {
    uint32_t risk_q18;
    uint32_t error_q18;
    uint32_t surprise_q18;
} tcuq_sums;

/* Whether a term reads what the one before it read. */
/*@ requires \valid_read(terms + (0 .. i));
    assigns \nothing;
    ensures \result ==> i > 0; */
static bool tcuq_reads_the_same(const tcuq_term *terms, uint32_t i)
{
    return (i != 0u) && (terms[i].points == terms[i - 1u].points) && (terms[i].signal == terms[i - 1u].signal);
}

/*@ requires tcuq_terms_given(monitor) && tcuq_terms_ok(monitor->profile, monitor->profile->term_count);
    requires monitor->profile->term_count <= TCUQ_MAX_TERMS;
    requires \valid_read(signals) && \separated(signals, TCUQ_SMOOTHED) && tcuq_smoothed_ok(monitor);
    requires \valid(sums) && \separated(sums, TCUQ_SMOOTHED);
    assigns *TCUQ_SMOOTHED, *sums;
    ensures tcuq_smoothed_ok(monitor) && sums->risk_q18 <= 0x10000000 * TCUQ_MAX_TERMS;
    ensures sums->error_q18 <= 0x10000000 * TCUQ_MAX_TERMS && sums->surprise_q18 <= TCUQ_RECENT_MAX; */
static void tcuq_terms_run(const tcuq_monitor *monitor, const tcuq_signals *signals, tcuq_sums *sums)
{
    const tcuq_profile *profile = monitor->profile;
    uint32_t risk_q18 = 0u;
    uint32_t error_q18 = 0u;
    uint32_t surprise_q18 = 0u;
    uint32_t bits = 0u;
    /*@ loop invariant 0 <= i <= profile->term_count && bits <= TCUQ_MAX_BITS_Q10;
        loop invariant risk_q18 <= 0x10000000 * i && error_q18 <= 0x10000000 * i;
        loop invariant surprise_q18 <= 0x400000 * i;
        loop invariant tcuq_smoothed_ok(monitor);
        loop assigns i, bits, risk_q18, error_q18, surprise_q18, *TCUQ_SMOOTHED;
        loop variant profile->term_count - i; */
    for (uint32_t i = 0u; i < profile->term_count; i++) {
        const tcuq_term *term = &profile->terms[i];
        if (!tcuq_reads_the_same(profile->terms, i)) {
            bits = tcuq_surprise_q10(term, tcuq_signal_value(signals, term->signal));
            bits = (bits > TCUQ_MAX_BITS_Q10) ? TCUQ_MAX_BITS_Q10 : bits;
        }
        uint32_t level = bits;
        if (term->ewma != 0u) {
            int32_t *mean_q8 = &monitor->smoothed_q8[i];
            *mean_q8 += tcuq_floor_shift((int32_t)(bits << 8) - *mean_q8, term->ewma);
            level = (uint32_t)*mean_q8 >> 8;
        }
        uint32_t over = (level > term->dead_q10) ? level - term->dead_q10 : 0u;
        over = (over > term->cap_q10) ? term->cap_q10 : over;
        //@ assert 0 <= over <= 16384 && 0 <= term->weight_q8 <= 16384 && 0 <= term->error_q8 <= 16384;
        //@ assert 0 <= over * term->weight_q8 <= 16384 * 16384 && 0 <= over * term->error_q8 <= 16384 * 16384;
        risk_q18 += over * term->weight_q8;
        error_q18 += over * term->error_q8;
        //@ assert 0 <= bits <= 16384 && 0 <= term->novelty_q8 <= 256;
        //@ assert 0 <= bits * term->novelty_q8 <= 16384 * 256;
        surprise_q18 += bits * term->novelty_q8;
    }
    sums->risk_q18 = risk_q18;
    sums->error_q18 = error_q18;
    sums->surprise_q18 = surprise_q18;
}

/* (Q18, Q10) half this step's surprise, half its mean lately. */
/*@ requires \valid(core) && surprise_q18 <= TCUQ_RECENT_MAX && core->recent_q18 <= TCUQ_RECENT_MAX;
    assigns core->recent_q18;
    ensures core->recent_q18 <= TCUQ_RECENT_MAX && \result <= TCUQ_MAX_TERMS * TCUQ_MAX_BITS_Q10; */
static inline uint32_t tcuq_novelty_q10(tcuq_core *core, uint32_t surprise_q18)
{
    const uint32_t before = core->recent_q18;
    const uint32_t recent_q18 = before - (before >> TCUQ_RECENT_EWMA) + (surprise_q18 >> TCUQ_RECENT_EWMA);
    core->recent_q18 = recent_q18;
    return (surprise_q18 + recent_q18) >> 9;
}

/*@ requires \valid_read(profile) && \valid_read(term) && tcuq_term_given(term);
    assigns \nothing;
    ensures \result ==> tcuq_term_ok(term); */
static bool tcuq_term_sound(const tcuq_profile *profile, const tcuq_term *term)
{
    bool sound = tcuq_signal_given(profile, term->signal) && (term->point_count >= 1u) &&
                 (term->point_count <= TCUQ_MAX_POINTS) && (term->points != NULL) &&
                 (term->bits_q10 != NULL) && (term->ewma <= 10u) && (term->cap_q10 <= 16384u) &&
                 (term->weight_q8 <= 16384u) && (term->error_q8 <= 16384u) && (term->novelty_q8 <= 256u) &&
                 (term->start_q10 <= TCUQ_MAX_BITS_Q10);
    /*@ loop invariant 1 <= i && (sound ==> tcuq_term_fields_ok(term) && i <= term->point_count);
        loop invariant sound ==> tcuq_ascending(term, i);
        loop assigns i, sound;
        loop variant term->point_count - i; */
    for (uint32_t i = 1u; sound && (i < term->point_count); i++) {
        sound = (term->points[i] > term->points[i - 1u]) &&
                (term->bits_q10[i] >= term->bits_q10[i - 1u]);
    }
    return sound;
}

#endif

/*@ assigns \nothing;
    ensures \result ==> -TCUQ_MAX_BIAS <= bias_q16 <= TCUQ_MAX_BIAS; */
static bool tcuq_bias_sound(int32_t bias_q16)
{
    return (bias_q16 <= TCUQ_MAX_BIAS) && (bias_q16 >= -TCUQ_MAX_BIAS);
}

/*@ requires \valid_read(profile);
    assigns \nothing;
    ensures \result && tcuq_bias_ok(profile) ==> tcuq_weights_ok(profile); */
static bool tcuq_weights_sound(const tcuq_profile *profile)
{
    return (profile->mix_q15 <= 32768u) && (profile->weight_shift >= 5u) && (profile->weight_shift <= 16u);
}

bool tcuq_score_sound(const tcuq_profile *profile)
{
    if (!tcuq_bias_sound(profile->bias_q16) || !tcuq_bias_sound(profile->error_bias_q16)) {
        return false;
    }
    if (profile->terms == NULL) {
        return (profile->term_count == 0u) && tcuq_weights_sound(profile);
    }
#if TCUQ_WITH_ANCHORED
    bool sound = (profile->term_count >= 1u) && (profile->term_count <= TCUQ_MAX_TERMS) &&
                 ((profile->weight_shift == 0u) || tcuq_weights_sound(profile));
    /*@ loop invariant 0 <= i <= profile->term_count && (sound ==> tcuq_terms_ok(profile, i));
        loop invariant sound ==> profile->term_count <= TCUQ_MAX_TERMS;
        loop invariant sound && profile->weight_shift != 0 ==> tcuq_weights_ok(profile);
        loop assigns i, sound;
        loop variant profile->term_count - i; */
    for (uint32_t i = 0u; sound && (i < profile->term_count); i++) {
        sound = tcuq_term_sound(profile, &profile->terms[i]);
    }
    return sound;
#else
    return true; /* tcuq_init says that this build leaves it out */
#endif
}

#if TCUQ_WITH_ANCHORED

/* Ten terms at most: a quarter of the sum and the bias are within 2^30 each. */
/*@ requires sum_q18 <= 0x10000000 * TCUQ_MAX_TERMS && -TCUQ_MAX_BIAS <= bias_q16 <= TCUQ_MAX_BIAS;
    assigns \nothing;
    ensures \result <= TCUQ_RISK_LEVELS; */
static uint16_t tcuq_level_of(uint32_t sum_q18, int32_t bias_q16)
{
    return (uint16_t)(tcuq_sigmoid((int32_t)(sum_q18 >> 2) + bias_q16) >> 2);
}

#endif

void tcuq_score_run(const tcuq_monitor *monitor, const tcuq_signals *signals, tcuq_decision *decision)
{
    const tcuq_profile *profile = monitor->profile;
    decision->novelty_q10 = 0u;
#if TCUQ_WITH_ANCHORED
    if (profile->terms != NULL) {
        tcuq_sums sums;
        tcuq_terms_run(monitor, signals, &sums);
        decision->novelty_q10 = tcuq_novelty_q10(monitor->core, sums.surprise_q18);
        if (profile->weight_shift == 0u) {
            decision->risk = tcuq_level_of(sums.risk_q18, profile->bias_q16);
            decision->expected_error = tcuq_level_of(sums.error_q18, profile->error_bias_q16);
            return;
        }
    }
#endif
    decision->risk = tcuq_score_combined(profile, signals);
    decision->expected_error = decision->risk;
}

#if TCUQ_WITH_ANCHORED

bool tcuq_score_smooths(const tcuq_profile *profile)
{
    bool smooths = false;
    /*@ loop invariant 0 <= i <= profile->term_count;
        loop invariant !smooths ==> \forall integer k; 0 <= k < i ==> profile->terms[k].ewma == 0;
        loop assigns i, smooths;
        loop variant profile->term_count - i; */
    for (uint32_t i = 0u; i < profile->term_count; i++) {
        smooths = smooths || (profile->terms[i].ewma != 0u);
    }
    return smooths;
}

/* Every mean, also of a term that does not smooth: the snapshot keeps them all. */
void tcuq_score_reset(const tcuq_monitor *monitor)
{
    const tcuq_profile *profile = monitor->profile;
    uint32_t shares = 0u;
    /*@ loop invariant 0 <= i <= profile->term_count && shares <= 256 * i;
        loop invariant \forall integer k; 0 <= k < i && k < tcuq_smoothed(monitor) ==>
          0 <= monitor->smoothed_q8[k] <= 0x400000;
        loop assigns i, shares, *TCUQ_SMOOTHED;
        loop variant profile->term_count - i; */
    for (uint32_t i = 0u; i < profile->term_count; i++) {
        shares += profile->terms[i].novelty_q8;
        if (monitor->smoothed_q8 != NULL) {
            monitor->smoothed_q8[i] = (int32_t)profile->terms[i].start_q10 * 256;
        }
    }
    monitor->core->recent_q18 = TCUQ_MEAN_BITS_Q10 * shares;
}

#endif
