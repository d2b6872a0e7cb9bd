/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the features: their selection, projection, length, and products with past ones. */
#include "tcuq_internal.h"

/*@ requires tcuq_projection_given(profile) && profile->selection != \null;
    assigns \nothing;
    ensures \result ==> tcuq_selected_ok(profile, profile->dimensions); */
static bool tcuq_selection_sound(const tcuq_profile *profile)
{
    bool sound = true;
    /*@ loop invariant i <= profile->dimensions && (sound ==> tcuq_selected_ok(profile, i));
        loop assigns i, sound;
        loop variant profile->dimensions - i; */
    for (uint32_t i = 0u; i < profile->dimensions; i++) {
        sound = sound && (profile->selection[i] < profile->width);
    }
    return sound;
}

bool tcuq_features_sound(const tcuq_profile *profile)
{
    const uint32_t count = profile->dimensions;
    if (profile->selection != NULL) {
        return (count != 0u) && (count <= TCUQ_MAX_DIMENSIONS) && (profile->projection == NULL) &&
               tcuq_selection_sound(profile);
    }
    if (profile->projection == NULL) {
        return (count == profile->width) && (count <= TCUQ_MAX_DIMENSIONS);
    }
    bool sound = (count != 0u) && (count <= TCUQ_MAX_DIMENSIONS) && (profile->width != 0u) &&
                 (profile->projection_bias != NULL) && (profile->projection_shift <= 30u);
    /*@ loop invariant row <= count;
        loop invariant sound ==> tcuq_shape_ok(profile) && tcuq_biases_ok(profile, row);
        loop assigns row, sound;
        loop variant count - row; */
    for (uint32_t row = 0u; sound && (row < count); row++) {
        const int32_t bias = profile->projection_bias[row];
        sound = (bias <= TCUQ_MAX_BIAS) && (bias >= -TCUQ_MAX_BIAS);
    }
    return sound;
}

/* Those of the step's features that are looked at take the place of old ones. */
tcuq_replaced tcuq_replace_selected(const int8_t *features, const uint8_t *selection, uint32_t count, int8_t *old)
{
    int32_t square = 0;
    int32_t product = 0;
#if TCUQ_FOURS
    for (; count >= 4u; count -= 4u) {
        uint32_t word = (uint8_t)features[selection[0]];
        word |= (uint32_t)(uint8_t)features[selection[1]] << 8;
        word |= (uint32_t)(uint8_t)features[selection[2]] << 16;
        word |= (uint32_t)(uint8_t)features[selection[3]] << 24;
        const uint64_t quad = tcuq_quad_of(word);
        square = tcuq_multiply_quad(quad, quad, square);
        product = tcuq_multiply_quad(tcuq_take_four(old), quad, product);
        __builtin_memcpy(old, &word, 4);
        selection += 4;
        old += 4;
    }
#else
    TCUQ_UNROLL_4
#endif
    /*@ loop invariant i <= count;
        loop invariant 0 <= square <= 16384 * i && -16384 * i <= product <= 16384 * i;
        loop assigns i, square, product, old[0 .. count - 1];
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        const int32_t now = features[selection[i]];
        //@ assert 0 <= tcuq_cells(now, now) <= 16384 && -16384 <= tcuq_cells(now, old[i]) <= 16384;
        square += now * now;
        product += now * old[i];
        old[i] = (int8_t)now;
    }
    const tcuq_replaced replaced = {.square = square, .product = product};
    return replaced;
}

/* The step's features take the place of old ones. */
tcuq_replaced tcuq_replace(const int8_t *features, uint32_t count, int8_t *old)
{
    int32_t square = 0;
    int32_t product = 0;
    uint32_t left = count;
#if TCUQ_FOURS
    for (; left >= 4u; left -= 4u) {
        const uint64_t quad = tcuq_take_four(features);
        square = tcuq_multiply_quad(quad, quad, square);
        product = tcuq_multiply_quad(tcuq_take_four(old), quad, product);
        __builtin_memcpy(old, features, 4);
        features += 4;
        old += 4;
    }
#endif
    TCUQ_UNROLL_4
    /*@ loop invariant i <= left;
        loop invariant 0 <= square <= 16384 * i && -16384 * i <= product <= 16384 * i;
        loop assigns i, square, product, old[0 .. left - 1];
        loop variant left - i; */
    for (uint32_t i = 0u; i < left; i++) {
        const int32_t now = features[i];
        //@ assert 0 <= tcuq_cells(now, now) <= 16384 && -16384 <= tcuq_cells(now, old[i]) <= 16384;
        square += now * now;
        product += now * old[i];
        old[i] = (int8_t)now;
    }
    const tcuq_replaced replaced = {.square = square, .product = product};
    return replaced;
}

#if TCUQ_FOURS

/* Products of what was loaded last with the current four features; `now` is free by then. */
#define TCUQ_PAST(product)                                 \
    "sxtb16 %[now], %[past]\n\t"                           \
    "smlad " product ", %[now], %[even], " product "\n\t"  \
    "sxtb16 %[past], %[past], ror #8\n\t"                  \
    "smlad " product ", %[past], %[odd], " product "\n\t"

/* The usual case at once: features in fours that need no projection take the place of old ones. Products
 * with two others and with the old ones; the sum of squares. */
int32_t tcuq_replace_of_three(const int8_t *features, uint32_t count, int8_t *old, const int8_t *one,
                              const int8_t *two, int32_t *products)
{
    int32_t product0 = 0;
    int32_t product1 = 0;
    int32_t product2 = 0;
#if TCUQ_USE_ASM
    int32_t square = -(int32_t)(count << 22); /* < 2^20: its highest byte counts the fours that are left */
    int32_t now;
    int32_t past;
    int32_t even;
    int32_t odd;
    __asm__("1:\n\t"
            "ldr %[now], [%[features]], #4\n\t"
            "ldr %[past], [%[old]]\n\t"
            "str %[now], [%[old]], #4\n\t"
            "sxtb16 %[even], %[now]\n\t"
            "sxtb16 %[odd], %[now], ror #8\n\t"
            "smlad %[square], %[even], %[even], %[square]\n\t"
            "smlad %[square], %[odd], %[odd], %[square]\n\t"
            TCUQ_PAST("%[product2]")
            "ldr %[past], [%[one]], #4\n\t"
            TCUQ_PAST("%[product0]")
            "ldr %[past], [%[two]], #4\n\t"
            TCUQ_PAST("%[product1]")
            "adds %[square], %[square], #0x1000000\n\t"
            "bmi 1b"
            : [features] "+r"(features), [old] "+r"(old), [one] "+r"(one), [two] "+r"(two),
              [square] "+r"(square), [product0] "+r"(product0), [product1] "+r"(product1),
              [product2] "+r"(product2), [now] "=&r"(now), [past] "=&r"(past), [even] "=&r"(even),
              [odd] "=&r"(odd)
            :
            : "cc", "memory");
#else
    const int8_t *end = &features[count];
    int32_t square = 0;
    do {
        const uint64_t quad = tcuq_take_four(features);
        square = tcuq_multiply_quad(quad, quad, square);
        product0 = tcuq_multiply_quad(tcuq_take_four(one), quad, product0);
        product1 = tcuq_multiply_quad(tcuq_take_four(two), quad, product1);
        product2 = tcuq_multiply_quad(tcuq_take_four(old), quad, product2);
        __builtin_memcpy(old, features, 4);
        features += 4;
        old += 4;
        one += 4;
        two += 4;
    } while (features != end);
#endif
    products[0] = product0;
    products[1] = product1;
    products[2] = product2;
    return square;
}

#endif

/* Product of two vectors; |product| <= 2^19. */
int32_t tcuq_dot(const int8_t *left, const int8_t *right, uint32_t count)
{
    int32_t sum = 0;
#if TCUQ_FOURS
    for (uint32_t fours = count / 4u; fours != 0u; fours--) {
        sum = tcuq_multiply_quad(tcuq_take_four(left), tcuq_take_four(right), sum);
        left += 4;
        right += 4;
    }
    count &= 3u;
#endif
    TCUQ_UNROLL_4
    /*@ loop invariant i <= count && -16384 * i <= sum <= 16384 * i && (left == right ==> 0 <= sum);
        loop assigns i, sum;
        loop variant count - i; */
    for (uint32_t i = 0u; i < count; i++) {
        sum += (int32_t)left[i] * right[i];
    }
    return sum;
}

/* Length of a vector as (1 / normalised length, exponent): |f| · 2^exponent = 2^29 / reciprocal. */
void tcuq_length(int32_t square, tcuq_slot *slot)
{
    if (square == 0) {
        slot->reciprocal_q14 = 0u;
        slot->exponent = 0u;
    } else {
        const uint32_t zeros = tcuq_leading_zeros((uint32_t)square);
        //@ assert zeros != 0 && zeros != 1;
        const uint32_t exponent = (zeros / 2u) - 1u; /* square < 2^30 */
        //@ assert 2 * exponent == zeros - 2 || 2 * exponent == zeros - 3;
        slot->reciprocal_q14 = tcuq_rsqrt_q14((uint32_t)square << (2u * exponent));
        slot->exponent = (uint8_t)exponent;
    }
}
