/* SPDX-License-Identifier: Apache-2.0 */
/* Signals: how a step differs from its recent past and from what calibration looked like.
 *
 * The oldest past step is the slot that is overwritten: read, then stored, so that the ring holds
 * max(lags) steps and no more. */
#include "tcuq_internal.h"

#define TCUQ_LOW_CONFIDENCE_UNIT 24 /* log2 of the unit confidence shortfall is taken in */
#define TCUQ_CERTAIN 168u           /* 1e-5 in that unit */
#define TCUQ_FARTHEST 18            /* log2 of more than the squared length of eight outputs */

/* How many of the lags have a past (they ascend, so the first ones do), and the slots they are in. */
static void tcuq_find_past(const tcuq_monitor *monitor, tcuq_past *past)
{
    const tcuq_profile *profile = monitor->profile;
    const int32_t size = tcuq_ring_size(profile);
    const int32_t next = monitor->core->next;
    const uint32_t filled = monitor->core->filled;
    uint32_t i = 0u;
#if TCUQ_FOURS
    if (profile->lag_count == 1u) { /* its past is in the slot that is overwritten next */
        past->slots[0] = (uint8_t)next;
        past->count = ((uint32_t)size <= filled) ? 1u : 0u;
        return;
    }
#endif
    /*@ loop invariant i <= profile->lag_count && tcuq_found(monitor, past, i);
        loop assigns i, past->slots[0 .. 7]; loop variant profile->lag_count - i; */
    while ((i < profile->lag_count) && (profile->lags[i] <= filled)) {
        //@ assert profile->lags[i] <= size;
        const int32_t ago = next - (int32_t)profile->lags[i];
        past->slots[i] = (uint8_t)((ago < 0) ? ago + size : ago);
        i++;
    }
    past->count = i;
}

/* (Q15) cosine · the current features' normalised length, between -32768 and 32767. */
static int32_t tcuq_projection_on(const tcuq_slot *now, const tcuq_slot *past, int32_t product)
{
    /* Both lengths normalised are < 2^15: shifted, the product stays below 2^30. */
    const int32_t normalised = tcuq_scale_up(product, (uint32_t)now->exponent + past->exponent);
    //@ assert -0x80000000 <= tcuq_cells(normalised >> 15, past->reciprocal_q14) <= 0x7FFFFFFF;
    const int32_t value = tcuq_floor_shift(normalised, 15u) * past->reciprocal_q14;
    return tcuq_saturate_16(tcuq_floor_shift(value, 14u));
}

/* The step's features take the place of the oldest: products with those of past steps, sum of squares. */
static int32_t tcuq_take_features(const tcuq_monitor *monitor, const int8_t *features, int8_t *row,
                                  const tcuq_past *past, const tcuq_signals *signals, int32_t *products)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t count = profile->dimensions;
    const uint32_t next = monitor->core->next;
#if TCUQ_FOURS
    if ((past->count == 3u) && (past->slots[2] == next) && (profile->projection == NULL) &&
        (profile->selection == NULL) && (count != 0u) && ((count & 3u) == 0u)) {
        return tcuq_replace_of_three(features, count, row, &monitor->features[past->slots[0] * count],
                                     &monitor->features[past->slots[1] * count], products);
    }
#endif
    //@ assert TCUQ_ROW_WITHIN(next, count);
    tcuq_replaced replaced = {.square = 0, .product = 0};
    if (profile->selection != NULL) {
        replaced = tcuq_replace_selected(features, profile->selection, count, row);
    } else if (profile->projection == NULL) {
        replaced = tcuq_replace(features, count, row);
    } else {
        replaced.square = tcuq_dot(row, row, count);
        replaced.product = signals->product;
    }
#if TCUQ_FOURS
    if (profile->lag_count == 1u) {
        products[0] = replaced.product;
        return replaced.square;
    }
#endif
    /*@ loop invariant i <= past->count;
        loop assigns i, products[0 .. 7]; loop variant past->count - i; */
    for (uint32_t i = 0u; i < past->count; i++) {
        //@ assert TCUQ_ROW_WITHIN(past->slots[i], count);
        products[i] = (past->slots[i] == next)
                          ? replaced.product
                          : tcuq_dot(row, tcuq_features_at(monitor, past->slots[i]), count);
    }
    return replaced.square;
}

/* How many of the past features are zero vectors: two of them are alike, one is unlike anything else. */
static uint32_t tcuq_zero_vectors(const tcuq_monitor *monitor, const tcuq_past *past)
{
    uint32_t zeros = 0u;
    /*@ loop invariant zeros <= i <= past->count;
        loop assigns i, zeros; loop variant past->count - i; */
    for (uint32_t i = 0u; i < past->count; i++) {
        zeros += (monitor->slots[past->slots[i]].reciprocal_q14 == 0u) ? 1u : 0u;
    }
    return zeros;
}

/* (Q12) How far outputs jumped: the mean of their changes, in ranges of 256. */
/*@ requires 1 <= count <= TCUQ_MAX_OUTPUTS;
    requires \valid_read(now + (0 .. count - 1)) && \valid_read(past + (0 .. count - 1));
    assigns \nothing;
    ensures 0 <= \result <= 4096; */
static inline int32_t tcuq_jump_q12(const uint8_t *now, const uint8_t *past, uint32_t count)
{
    uint32_t jumps = 0u;
    /*@ loop invariant i <= count && jumps <= 255 * i;
        loop assigns i, jumps; loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const int32_t jump = tcuq_signed_byte(now[i]) - tcuq_signed_byte(past[i]);
        jumps += (uint32_t)((jump < 0) ? -jump : jump);
    }
    return (int32_t)((jumps * tcuq_share_q15[count]) >> 11);
}

#if TCUQ_FOURS

/* As tcuq_look_back, of the one lag that the default has. */
static void tcuq_look_one_back(const tcuq_monitor *monitor, const uint8_t *posterior, uint32_t at, int32_t product,
                               const tcuq_slot *now, tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    const tcuq_slot *slot = &monitor->slots[at];
    const uint32_t classes = profile->classes;
    const uint32_t mixture_q17 = tcuq_mixture_q17(posterior, &monitor->posteriors[at * classes], classes);
    int32_t apart_q12 = (int32_t)((mixture_q17 + 16u) >> 5) -
                        (int32_t)(((uint32_t)now->entropy_q12 + slot->entropy_q12) >> 1);
    apart_q12 = (apart_q12 < 0) ? 0 : ((apart_q12 > 4096) ? 4096 : apart_q12);
    const uint32_t divergence_q27 = profile->lag_weights_q15[0] * (uint32_t)apart_q12;
    const int32_t alike = (slot->reciprocal_q14 == 0u) ? 32768 : 0; /* of a zero vector */
    const int32_t cosine = TCUQ_UNLIKELY(now->reciprocal_q14 == 0u)
                               ? alike
                               : (tcuq_projection_on(now, slot, product) * now->reciprocal_q14) >> 14;
    signals->whole_past = true;
    signals->values_q15[TCUQ_DIVERGENCE] = (uint16_t)((divergence_q27 + 2048u) >> 12);
    signals->values_q15[TCUQ_INCONSISTENCY] = (now->label != slot->label) ? 32768u : 0u;
    signals->values_q15[TCUQ_INSTABILITY] = (uint16_t)__usat(32768 - cosine, 16);
}

#endif

/* Divergence, instability and inconsistency over the lags that have a past. */
static void tcuq_look_back(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_past *past,
                           const int32_t *products, const tcuq_slot *now, tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t present = past->count;
#if TCUQ_FOURS
    if ((present == 1u) && (profile->lag_count == 1u) && !tcuq_has_outputs(profile)) {
        tcuq_look_one_back(monitor, posterior, past->slots[0], products[0], now, signals);
        return;
    }
#endif
    //@ assert present == 0 || present == 1 || present == 2 || present == 3 || present == 4 || present == 5 || present == 6 || present == 7 || present == 8;
    //@ assert (uint32_t)(present + 1u) == present + 1;
    //@ assert present * (present + 1) <= 72 && present * (present + 1) <= profile->lag_count * (profile->lag_count + 1);
    //@ assert (uint32_t)(present * (uint32_t)(present + 1u)) == present * (present + 1);
    //@ assert 2 * present <= present * (present + 1) <= 72;
    //@ assert present <= (uint32_t)(present * (uint32_t)(present + 1u)) / 2 <= 36;
    //@ assert (uint32_t)(present * (uint32_t)(present + 1u)) / 2 <= tcuq_cells(profile->lag_count, profile->lag_count + 1) / 2;
    const uint16_t *weights = &profile->lag_weights_q15[((present * (present + 1u)) / 2u) - present];
    const uint32_t share_q15 = tcuq_share_q15[present];
    //@ assert TCUQ_SHARES(present, share_q15);
    //@ assert 0 <= share_q15 <= 32768;
    const uint32_t classes = profile->classes;
    uint32_t divergence_q27 = 0u;
    int32_t along = 0; /* sum of projections of past features on the current ones */
    uint32_t changed = 0u;
    signals->whole_past = present == profile->lag_count;
    /*@ loop invariant i <= present && changed <= i;
        loop invariant divergence_q27 <= 0xFFFF000 * i;
        loop invariant -32768 * i <= along <= 32767 * i;
        loop assigns i, divergence_q27, along, changed; loop variant present - i; */
    for (uint32_t i = 0u; i < present; i++) {
        const uint32_t at = past->slots[i];
        //@ assert TCUQ_ROW_WITHIN(at, classes) && tcuq_slot_ok(monitor->slots + at);
        int32_t apart_q12;
        const tcuq_slot *slot;
        if (tcuq_has_outputs(profile)) {
            apart_q12 = tcuq_jump_q12(posterior, &monitor->posteriors[at * classes], classes);
            slot = &monitor->slots[at];
        } else {
            const uint32_t mixture_q17 =
                tcuq_mixture_q17(posterior, &monitor->posteriors[at * classes], classes);
            slot = &monitor->slots[at];
            apart_q12 = (int32_t)((mixture_q17 + 16u) >> 5) -
                        (int32_t)(((uint32_t)now->entropy_q12 + slot->entropy_q12) >> 1);
            apart_q12 = (apart_q12 < 0) ? 0 : ((apart_q12 > 4096) ? 4096 : apart_q12);
        }
        //@ assert 0 <= tcuq_cells(weights[i], (uint32_t)apart_q12) <= 0xFFFF000;
        //@ assert weights[i] * (uint32_t)apart_q12 <= 0xFFFF000;
        divergence_q27 += weights[i] * (uint32_t)apart_q12;
        changed += TCUQ_UNLIKELY(now->label != slot->label) ? 1u : 0u;
        along += tcuq_projection_on(now, slot, products[i]);
    }
    signals->values_q15[TCUQ_DIVERGENCE] = (uint16_t)((divergence_q27 + 2048u) >> 12);
    signals->values_q15[TCUQ_INCONSISTENCY] = (uint16_t)(changed * share_q15);
    signals->values_q15[TCUQ_INSTABILITY] = 0u;
    if (present != 0u) {
        //@ assert -0x40000000 <= along * share_q15 <= 0x40000000 && -32768 <= ((along * share_q15) >> 15) <= 32768;
        //@ assert (int32_t)share_q15 == share_q15;
        const int32_t mean = tcuq_floor_shift(along * (int32_t)share_q15, 15u);
        //@ assert -0x80000000 <= tcuq_cells(mean, now->reciprocal_q14) <= 0x7FFFFFFF;
        const int32_t cosine = TCUQ_UNLIKELY(now->reciprocal_q14 == 0u)
                                   ? (int32_t)(tcuq_zero_vectors(monitor, past) * share_q15)
                                   : tcuq_floor_shift(mean * now->reciprocal_q14, 14u);
        const int32_t apart = 32768 - cosine;
        signals->values_q15[TCUQ_INSTABILITY] =
            (uint16_t)((apart < 0) ? 0 : ((apart > 65535) ? 65535 : apart));
    }
}

/* Confidence, doubt and low confidence of the step alone; a posterior of zeros has no confidence. */
static void tcuq_look_now(const tcuq_profile *profile, const tcuq_posterior *read,
                          tcuq_signals *signals)
{
    const uint32_t one_q32 = read->one_q32;
    //@ assert 0 <= tcuq_cells((uint32_t)(read->sum - read->first), one_q32) <= UINT32_MAX;
    //@ assert 0 <= tcuq_cells((uint32_t)(read->first - read->second), one_q32) <= UINT32_MAX;
    const uint32_t short_q32 =
        (read->sum != 0u) ? (read->sum - read->first) * one_q32 : UINT32_MAX;
    const uint32_t short_q15 = short_q32 >> 17;
    const uint32_t tied_q15 = 32768u - (((uint32_t)read->first - read->second) * one_q32 >> 17);
    const uint32_t blend = profile->blend_q15;
    //@ assert short_q15 <= 32768 && tied_q15 <= 32768;
    //@ assert tcuq_cells(blend, short_q15) + tcuq_cells(32768 - blend, tied_q15) <= 0x40000000;
    signals->confidence_q16 = 65536u - (short_q32 >> 16);
    signals->values_q15[TCUQ_DOUBT] =
        (uint16_t)((blend * short_q15 + (32768u - blend) * tied_q15 + 16384u) >> 15);
#if TCUQ_WITH_ANCHORED || TCUQ_WITH_ALARM
    signals->low_confidence_q10 = (int16_t)((int32_t)tcuq_log2_q10((short_q32 >> 8) + TCUQ_CERTAIN) -
                                            (TCUQ_LOW_CONFIDENCE_UNIT << 10));
#else
    signals->low_confidence_q10 = 0;
#endif
}

/* Of outputs: their squared length from calibration's middle stands for low confidence. */
/*@ requires 1 <= count <= TCUQ_MAX_OUTPUTS && \valid_read(outputs + (0 .. count - 1));
    requires \valid(signals) && \separated(signals, outputs + (0 .. count - 1));
    assigns signals->confidence_q16, signals->values_q15[TCUQ_DOUBT], signals->low_confidence_q10;
    ensures signals->confidence_q16 == 65536; */
static inline void tcuq_look_at_outputs(const uint8_t *outputs, uint32_t count, tcuq_signals *signals)
{
    uint32_t square = 0u;
    /*@ loop invariant i <= count && square <= 16384 * i;
        loop assigns i, square; loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const int32_t value = tcuq_signed_byte(outputs[i]);
        //@ assert 0 <= tcuq_cells(value, value) <= 16384;
        square += (uint32_t)(value * value);
    }
    signals->confidence_q16 = 65536u;
    signals->values_q15[TCUQ_DOUBT] = 0u;
    signals->low_confidence_q10 = (int16_t)((int32_t)tcuq_log2_q10(square + 1u) - (TCUQ_FARTHEST << 10));
}

/* The step is the past's newest then; its features are there already. */
static void tcuq_remember(const tcuq_monitor *monitor, const uint8_t *posterior, const tcuq_slot *now)
{
    const tcuq_profile *profile = monitor->profile;
    tcuq_core *core = monitor->core;
    const uint32_t size = tcuq_ring_size(profile);
    const uint32_t at = core->next;
    const uint32_t classes = profile->classes;
    //@ assert TCUQ_ROW_WITHIN(at, classes);
    uint8_t *row = &monitor->posteriors[at * classes];
    uint32_t left = classes;
#if TCUQ_FOURS /* where words need no alignment */
    for (; left >= 4u; left -= 4u) {
        __builtin_memcpy(row, posterior, 4);
        row += 4;
        posterior += 4;
    }
    if ((left != 0u) && (classes >= 4u)) { /* the last word again, with those that are left */
        __builtin_memcpy(&row[left] - 4, &posterior[left] - 4, 4);
        left = 0u;
    }
#endif
    /*@ loop invariant c <= left;
        loop assigns c, row[0 .. left - 1]; loop variant left - c; */
    for (uint32_t c = 0u; c < left; c++) {
        row[c] = posterior[c];
    }
    //@ assert core->next == at && core->filled == \at(monitor->core->filled, Pre);
    //@ assert tcuq_slots(monitor->profile) == size;
    //@ assert tcuq_slots_ok(monitor) && tcuq_slot_ok(now);
    //@ assert 1 <= monitor->profile->lag_count <= TCUQ_MAX_LAGS;
    tcuq_slot *slot = &monitor->slots[at];
#if TCUQ_FOURS
    __builtin_memcpy(slot, now, sizeof *slot);
#else /* by member: a struct copy may call memcpy */
    slot->entropy_q12 = now->entropy_q12;
    slot->reciprocal_q14 = now->reciprocal_q14;
    slot->label = now->label;
    slot->exponent = now->exponent;
    slot->reserved = 0u;
#endif
    //@ assert tcuq_slot_ok(slot);
    //@ assert core->next == at && core->filled == \at(monitor->core->filled, Pre);
    //@ assert tcuq_slots(monitor->profile) == size;
    //@ assert \forall integer k; 0 <= k < size && k != at ==> tcuq_slot_ok{Pre}(\at(monitor->slots, Pre) + k) ==> tcuq_slot_ok(monitor->slots + k);
    //@ assert tcuq_slots_ok(monitor);
    //@ assert 1 <= monitor->profile->lag_count <= TCUQ_MAX_LAGS;
    //@ assert 0 <= at < size <= 255 && (uint8_t)(uint32_t)(at + 1u) == at + 1 && (uint32_t)(at + 1u) == at + 1;
    core->next = (uint8_t)(((at + 1u) == size) ? 0u : at + 1u);
    //@ assert at + 1 == size ==> core->next == 0;
    //@ assert at + 1 != size ==> core->next == at + 1;
    core->filled = (uint8_t)((core->filled < size) ? core->filled + 1u : size);
    //@ assert tcuq_slots(monitor->profile) == size;
    //@ assert tcuq_slot_ok(monitor->slots + at);
    //@ assert core->filled <= \at(monitor->core->filled, Pre) + 1;
    //@ assert \forall integer k; 0 <= k < size && k != at && tcuq_age(k, core->next, size) <= core->filled ==> tcuq_age(k, at, size) <= \at(monitor->core->filled, Pre);
    //@ assert \forall integer k; 0 <= k < size && k != at && tcuq_age(k, at, size) <= \at(monitor->core->filled, Pre) ==> tcuq_slot_ok(monitor->slots + k);
}

/* All signals but novelty; features that need a projection are in their row already. */
static TCUQ_NOINLINE const int8_t *tcuq_signals_run_projected(const tcuq_monitor *monitor, const uint8_t *posterior,
                           const int8_t *features, tcuq_signals *signals)
{
    const tcuq_profile *profile = monitor->profile;
    int8_t *row = tcuq_features_at(monitor, monitor->core->next);
    int32_t products[TCUQ_MAX_LAGS];
    tcuq_past past;
    tcuq_posterior read;
    tcuq_slot now;
    if (tcuq_has_outputs(profile)) {
        read.label = 0u;
        read.entropy_q12 = 0u;
        tcuq_look_at_outputs(posterior, profile->classes, signals);
    } else {
        tcuq_read_posterior(posterior, profile->classes, &read);
        //@ assert tcuq_ring_given(monitor);
        tcuq_look_now(profile, &read, signals);
    }
    //@ assert tcuq_ring_given(monitor);
    tcuq_find_past(monitor, &past);
    //@ assert tcuq_slots(monitor->profile) == \at(tcuq_slots(monitor->profile), Pre);
    //@ assert monitor->profile->classes == \at(monitor->profile->classes, Pre) && monitor->profile->dimensions == \at(monitor->profile->dimensions, Pre);
    //@ assert tcuq_ring_given(monitor) && tcuq_slots_ok(monitor);
    tcuq_length(tcuq_take_features(monitor, features, row, &past, signals, products), &now);
    now.entropy_q12 = read.entropy_q12;
    now.label = read.label;
    now.reserved = 0u;
    signals->label = read.label;
    signals->contradiction_q10 = 0;
#if TCUQ_WITH_ANCHORED
    if (!tcuq_has_outputs(profile) && (profile->stay_q8 != 0u)) {
        signals->contradiction_q10 = tcuq_contradiction(monitor, posterior, &read);
    }
#endif
    //@ assert tcuq_slots_ok(monitor);
    //@ assert \valid_read(TCUQ_LAG_WEIGHTS) && \separated(signals, TCUQ_PAST_OF);
    //@ assert \separated(signals, &now, &past, products + (0 .. 7));
    tcuq_look_back(monitor, posterior, &past, products, &now, signals);
    tcuq_remember(monitor, posterior, &now);
    return row;
}

/* All signals but novelty; the step is then the past's newest. Gives its features there. The projection comes
 * first, so that its frame does not stand on the signals'. */
const int8_t *tcuq_signals_run_core(const tcuq_monitor *monitor, const uint8_t *posterior,
                           const int8_t *features, tcuq_signals *signals)
{
#if TCUQ_WITH_PROJECTION
    const tcuq_profile *profile = monitor->profile;
    if (profile->projection != NULL) {
        //@ assert TCUQ_ROW_WITHIN(monitor->core->next, profile->dimensions);
        int8_t *row = tcuq_features_at(monitor, monitor->core->next);
        signals->product = tcuq_project(profile, features, row);
    }
#endif
    return tcuq_signals_run_projected(monitor, posterior, features, signals);
}
