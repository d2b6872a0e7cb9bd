/* SPDX-License-Identifier: Apache-2.0 */
/* Novelty: log2(1 + least squared distance to a class mean, under the whitening). */
#include "tcuq_internal.h"
#include "tcuq_products.h"

#if TCUQ_WITH_NOVELTY

/* Features in quads, the last filled up with zeros. */
/*@ requires \valid_read(profile); assigns \nothing; ensures \result == tcuq_quads_of(profile); */
static inline uint32_t tcuq_groups(const tcuq_profile *profile)
{
    return (profile->dimensions + 3u) / 4u;
}

/* Four whitened features from their sums, 13 bits each so that 32 squared differences fit in 31. Gives
 * square + the sum of their squares. */
/*@ requires \valid_read(sums + (0 .. 3)) && \valid_read(shift + (0 .. 3)) && \valid(whitened + (0 .. 3));
    requires \separated(whitened + (0 .. 3), sums + (0 .. 3)) && \separated(whitened + (0 .. 3), shift + (0 .. 3));
    requires shift[0] <= 30 && shift[1] <= 30 && shift[2] <= 30 && shift[3] <= 30;
    requires 0 <= square <= 0x1C000000;
    assigns whitened[0 .. 3];
    ensures square <= \result <= square + 0x4000000;
    ensures tcuq_fits_13_bits(whitened[0]) && tcuq_fits_13_bits(whitened[1]) && tcuq_fits_13_bits(whitened[2]) && tcuq_fits_13_bits(whitened[3]); */
static inline int32_t tcuq_finish_rows(const int32_t *sums, const uint8_t *shift, int16_t *whitened,
                                       int32_t square)
{
    const int32_t value0 = tcuq_saturate_13(tcuq_floor_shift(sums[0], shift[0]));
    const int32_t value1 = tcuq_saturate_13(tcuq_floor_shift(sums[1], shift[1]));
    const int32_t value2 = tcuq_saturate_13(tcuq_floor_shift(sums[2], shift[2]));
    const int32_t value3 = tcuq_saturate_13(tcuq_floor_shift(sums[3], shift[3]));
#if TCUQ_DSP
    const uint64_t quad = tcuq_quad(tcuq_pair(value0, value1), tcuq_pair(value2, value3));
    __builtin_memcpy(whitened, &quad, 8);
    return tcuq_multiply_quad(quad, quad, square);
#else
    //@ assert 0 <= tcuq_cells(value0, value0) && tcuq_fits_13(value0, value0);
    //@ assert 0 <= tcuq_cells(value1, value1) && tcuq_fits_13(value1, value1);
    //@ assert 0 <= tcuq_cells(value2, value2) && tcuq_fits_13(value2, value2);
    //@ assert 0 <= tcuq_cells(value3, value3) && tcuq_fits_13(value3, value3);
    whitened[0] = (int16_t)value0;
    whitened[1] = (int16_t)value1;
    whitened[2] = (int16_t)value2;
    whitened[3] = (int16_t)value3;
    return square + value0 * value0 + value1 * value1 + value2 * value2 + value3 * value3;
#endif
}

#if TCUQ_FOURS

/* Features in quads, and whitened ones behind them, so that one place tells the other. */
typedef struct {
    uint64_t quads[TCUQ_QUADS];
    int16_t whitened[TCUQ_MAX_DIMENSIONS];
} tcuq_white;

/* Up to three features in a word, with zeros behind them. */
static inline uint32_t tcuq_last_features(const int8_t *features, int32_t left)
{
    uint32_t word = 0u;
    while (left > 0) {
        left--;
        word = (word << 8) | (uint8_t)features[left];
    }
    return word;
}

/* Whitened features, four rows at a time, and the sum of their squares; each quad is packed when its rows are. */
static TCUQ_NOINLINE int32_t tcuq_whiten_features(const tcuq_profile *profile, const int8_t *features,
                                                  tcuq_white *white)
{
    const uint64_t *weights = profile->whitening;
    const uint8_t *shift = profile->whitening_shift;
    uint64_t *last = white->quads;
    int32_t offset = 0; /* less what TCUQ_OFFSET adds to a sum */
    int32_t square = 0;
    int32_t left = profile->dimensions;
    do {
        int32_t sums[4];
        uint32_t word;
        if (TCUQ_UNLIKELY(left < 4)) {
            word = tcuq_last_features(features, left);
        } else {
            __builtin_memcpy(&word, features, 4);
        }
        *last = tcuq_quad_of(word);
        offset = tcuq_multiply_quad(TCUQ_MINUS_OFFSET, *last, offset);
        last++;
        sums[0] = offset;
        weights = tcuq_four_rows(weights, white->quads, last, sums);
        square = tcuq_finish_rows(sums, shift, (int16_t *)(void *)&last[TCUQ_QUADS - 1u], square);
        features += 4;
        shift += 4;
        left -= 4;
    } while (left > 0);
    return square;
}

#else

/* Whitened features, four rows at a time, and the sum of their squares. */
/*@ requires tcuq_novelty_given(profile) && tcuq_novelty_ok(profile) && profile->whitening != \null;
    requires \valid_read(quads + (0 .. tcuq_quads_of(profile) - 1));
    requires \valid(whitened + (0 .. 4 * tcuq_quads_of(profile) - 1));
    requires \separated(whitened + (0 .. 4 * tcuq_quads_of(profile) - 1), profile);
    requires \separated(whitened + (0 .. 4 * tcuq_quads_of(profile) - 1),
      profile->whitening_shift + (0 .. 4 * tcuq_quads_of(profile) - 1));
    assigns whitened[0 .. 4 * tcuq_quads_of(profile) - 1];
    ensures tcuq_13_bits(whitened, 4 * tcuq_quads_of(profile)) && 0 <= \result <= 0x20000000; */
static TCUQ_NOINLINE int32_t tcuq_whiten(const tcuq_profile *profile, const uint64_t *quads,
                                          int16_t *whitened)
{
    const uint64_t *weights = profile->whitening;
    const uint8_t *shift = profile->whitening_shift;
    const uint64_t *last = quads;
    const uint64_t *end = &quads[tcuq_groups(profile)];
    int32_t offset = 0; /* what TCUQ_OFFSET adds to a sum */
    int32_t square = 0;
    //@ ghost uint32_t groups = (profile->dimensions + 3u) / 4u;
    //@ ghost uint32_t group = 0;
    /*@ loop invariant group < groups && last == quads + group;
        loop invariant weights == profile->whitening + tcuq_triangle(group);
        loop invariant shift == profile->whitening_shift + 4 * group;
        loop invariant whitened == \at(whitened, Pre) + 4 * group;
        loop invariant -65536 * group <= offset <= 65536 * group && 0 <= square <= 0x4000000 * group;
        loop invariant tcuq_13_bits(\at(whitened, Pre), 4 * group);
        loop invariant tcuq_shifts_ok(profile, 4 * groups);
        loop assigns group, last, weights, shift, whitened, offset, square, \at(whitened, Pre)[0 .. 4 * groups - 1];
        loop variant groups - group; */
    do {
        int32_t sums[4];
        //@ assert tcuq_triangle(group) + 4 * (group + 1) <= tcuq_triangle(groups);
        //@ assert tcuq_triangle(group + 1) == tcuq_triangle(group) + 4 * (group + 1);
        //@ assert shift[0] <= 30 && shift[1] <= 30 && shift[2] <= 30 && shift[3] <= 30;
        offset = tcuq_multiply_quad(TCUQ_OFFSET, *last, offset);
        last++;
        sums[0] = -offset;
        weights = tcuq_four_rows(weights, quads, last, sums);
        square = tcuq_finish_rows(sums, shift, whitened, square);
        //@ assert tcuq_fits_13_bits(\at(whitened, Pre)[4 * group]) && tcuq_fits_13_bits(\at(whitened, Pre)[4 * group + 1]);
        //@ assert tcuq_fits_13_bits(\at(whitened, Pre)[4 * group + 2]) && tcuq_fits_13_bits(\at(whitened, Pre)[4 * group + 3]);
        //@ assert tcuq_13_bits(\at(whitened, Pre), 4 * group);
        //@ assert tcuq_13_bits(\at(whitened, Pre), 4 * group + 4);
        //@ ghost group++;
        shift += 4;
        whitened += 4;
    } while (last != end);
    //@ assert group == groups && tcuq_13_bits(\at(whitened, Pre), 4 * groups);
    return square;
}

#endif

/* The least |x - m|^2 - |x|^2 = |m|^2 - 2 x · m, exactly; two means at a time. */
/*@ requires tcuq_novelty_given(profile) && tcuq_novelty_ok(profile) && profile->whitening != \null;
    requires \valid_read(whitened + (0 .. 4 * tcuq_quads_of(profile) - 1));
    requires tcuq_13_bits(whitened, 4 * tcuq_quads_of(profile));
    assigns \nothing;
    ensures -0x40000000 <= \result <= 0x5FFC0000; */
static inline int32_t tcuq_least(const tcuq_profile *profile, const int16_t *whitened, bool eights)
{
    const uint32_t count = 4u * tcuq_groups(profile);
    const int16_t *end = &whitened[count];
    const int16_t *mean = profile->means;
    const int32_t *square = profile->mean_squares;
    const int32_t *squares_end = &square[profile->mean_count];
    int32_t least = INT32_MAX;
    //@ ghost uint32_t k = 0;
    //@ ghost uint32_t pair = 0;
    /*@ loop invariant pair < (profile->mean_count >> 1) && k == 2 * pair && square == profile->mean_squares + k;
        loop invariant mean == profile->means + tcuq_cells(k, count) && whitened == \at(whitened, Pre);
        loop invariant -0x40000000 <= least && (k == 0 || least <= 0x5FFC0000);
        loop assigns k, pair, whitened, mean, square, least;
        loop variant profile->mean_count - k; */
    do {
        int32_t products[2];
        //@ assert k + 2 <= profile->mean_count;
        //@ assert tcuq_cells(k + 1, count) == tcuq_cells(k, count) + count;
        //@ assert tcuq_cells(k + 2, count) == tcuq_cells(k + 1, count) + count;
        //@ assert tcuq_cells(k + 2, count) <= tcuq_cells(profile->mean_count, count);
        //@ assert mean + count == profile->means + tcuq_cells(k + 1, count);
        //@ assert tcuq_13_bits(mean, count);
        //@ assert tcuq_13_bits(mean + count, count);
        tcuq_two_products(&whitened, end, &mean, eights, products);
        whitened -= count;
        const int32_t bracket0 = square[0] - 2 * products[0];
        const int32_t bracket1 = square[1] - 2 * products[1];
        least = (bracket0 < least) ? bracket0 : least;
        least = (bracket1 < least) ? bracket1 : least;
        square += 2;
        //@ ghost k = k + 2;
        //@ ghost pair++;
    } while (square != squares_end);
    return least;
}

/*@ requires tcuq_novelty_given(profile) && tcuq_novelty_ok(profile) && profile->whitening != \null;
    requires \valid_read(whitened + (0 .. 4 * tcuq_quads_of(profile) - 1));
    requires tcuq_13_bits(whitened, 4 * tcuq_quads_of(profile));
    assigns \nothing;
    ensures -0x40000000 <= \result <= 0x5FFC0000; */
static TCUQ_NOINLINE int32_t tcuq_nearest(const tcuq_profile *profile, const int16_t *whitened)
{
    return tcuq_least(profile, whitened, false);
}

#if TCUQ_USE_ASM && TCUQ_DSP
static TCUQ_NOINLINE int32_t tcuq_nearest_eights(const tcuq_profile *profile,
                                                  const int16_t *whitened)
{
    return tcuq_least(profile, whitened, true);
}
#endif

bool tcuq_novelty_sound(const tcuq_profile *profile)
{
    if (profile->whitening == NULL) {
        return true;
    }
    const uint32_t groups = tcuq_groups(profile);
    bool sound = (groups != 0u) && (profile->whitening_shift != NULL) && (profile->means != NULL) &&
                 (profile->mean_squares != NULL) && (profile->mean_count != 0u) &&
                 ((profile->mean_count & 1u) == 0u) && (profile->novelty_exponent <= 24u);
#if TCUQ_DSP || TCUQ_USE_ASM
    sound = sound && (((uintptr_t)profile->means & 3u) == 0u);
#endif
    /*@ loop invariant i <= 4 * groups;
        loop invariant sound ==> tcuq_whitening_ok(profile) && tcuq_shifts_ok(profile, i);
        loop assigns i, sound;
        loop variant 4 * groups - i; */
    for (uint32_t i = 0u; sound && (i < (4u * groups)); i++) {
        sound = profile->whitening_shift[i] <= 30u;
    }
    const int16_t *mean = profile->means;
    /*@ loop invariant k <= profile->mean_count;
        loop invariant sound ==> tcuq_whitening_ok(profile) && tcuq_shifts_ok(profile, 4 * groups);
        loop invariant sound ==> mean == profile->means + tcuq_cells(k, 4 * groups) && tcuq_means_ok(profile, k);
        loop assigns k, mean, sound;
        loop variant profile->mean_count - k; */
    for (uint32_t k = 0u; sound && (k < profile->mean_count); k++) {
        uint32_t square = 0u;
        //@ assert tcuq_cells(k + 1, 4 * groups) == tcuq_cells(k, 4 * groups) + 4 * groups;
        //@ assert tcuq_cells(k + 1, 4 * groups) <= tcuq_mean_cells(profile);
        /*@ loop invariant i <= 4 * groups && (sound ==> tcuq_13_bits(mean, i) && square <= 0x1000000 * i);
            loop invariant square <= 0x60000000;
            loop assigns i, square, sound;
            loop variant 4 * groups - i; */
        for (uint32_t i = 0u; sound && (i < (4u * groups)); i++) {
            const int32_t value = mean[i];
            //@ assert 0 <= tcuq_cells(value, value) <= 0x40000000;
            //@ assert tcuq_fits_13_bits(value) ==> tcuq_cells(value, value) <= 0x1000000;
            sound = value == tcuq_saturate_13(value);
            square += (uint32_t)(value * value);
        }
        //@ assert sound ==> square <= 0x20000000 && tcuq_13_bits(profile->means + tcuq_cells(k, 4 * groups), 4 * groups);
        mean += 4u * groups;
        sound = sound && ((uint32_t)profile->mean_squares[k] == square);
    }
    return sound;
}

#if !TCUQ_FOURS

/* Features to quads, the last filled with zeros. */
/*@ requires count <= TCUQ_MAX_DIMENSIONS && \valid_read(features + (0 .. count - 1));
    requires \valid(quads + (0 .. (count + 3) / 4 - 1));
    requires \separated(features + (0 .. count - 1), quads + (0 .. (count + 3) / 4 - 1));
    assigns quads[0 .. (count + 3) / 4 - 1]; */
static TCUQ_NOINLINE void tcuq_pack_quads(const int8_t *features, uint32_t count, uint64_t *quads)
{
    uint32_t left = count;
    //@ ghost uint32_t done = 0;
#if !defined(__OPTIMIZE_SIZE__)
    /*@ loop invariant left <= count && count - left == 8 * (done / 2) && done % 2 == 0;
        loop invariant features == \at(features, Pre) + 4 * done && quads == \at(quads, Pre) + done;
        loop assigns left, done, features, quads, \at(quads, Pre)[0 .. (count + 3) / 4 - 1];
        loop variant left; */
    for (; left >= 8u; left -= 8u) {
        quads[0] = tcuq_take_four(features);
        quads[1] = tcuq_take_four(&features[4]);
        quads += 2;
        features += 8;
        //@ ghost done = done + 2;
    }
#endif
    /*@ loop invariant left <= count && (left == 0 || count - left == 4 * done) && done <= (count + 3) / 4;
        loop invariant features == \at(features, Pre) + (count - left) && quads == \at(quads, Pre) + done;
        loop assigns left, done, features, quads, \at(quads, Pre)[0 .. (count + 3) / 4 - 1];
        loop variant left; */
    while (left != 0u) {
        int8_t four[4] = {0, 0, 0, 0};
        /*@ loop invariant i <= 4 && left + i == \at(left, LoopEntry) && features == \at(features, Pre) + (count - left);
            loop assigns i, left, features, four[0 .. 3];
            loop variant 4 - i; */
        for (uint32_t i = 0u; (i < 4u) && (left != 0u); i++) {
            four[i] = *features;
            features++;
            left--;
        }
        *quads = tcuq_take_four(four);
        quads++;
        //@ ghost done++;
    }
}

#endif

int16_t tcuq_novelty_run(const tcuq_profile *profile, const int8_t *features)
{
#if TCUQ_FOURS
    tcuq_white white;
    const int16_t *whitened = white.whitened;
    const int32_t square = tcuq_whiten_features(profile, features, &white);
#else
    int16_t whitened[TCUQ_MAX_DIMENSIONS] TCUQ_WORD_ALIGNED;
    uint64_t quads[TCUQ_QUADS];
    tcuq_pack_quads(features, profile->dimensions, quads);
    const int32_t square = tcuq_whiten(profile, quads, whitened);
#endif
#if TCUQ_USE_ASM && TCUQ_DSP
    const int32_t apart = ((tcuq_groups(profile) & 1u) == 0u) ? tcuq_nearest_eights(profile, whitened)
                                                              : tcuq_nearest(profile, whitened);
#else
    const int32_t apart = tcuq_nearest(profile, whitened);
#endif
    const uint32_t distance = (uint32_t)(square + apart);
    const uint32_t exponent = profile->novelty_exponent;
    return (int16_t)((int32_t)tcuq_log2_q10(distance + ((uint32_t)1u << exponent)) -
                     (int32_t)(exponent << 10));
}

#endif
