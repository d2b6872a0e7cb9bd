/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo-random steps through an exported monitor; prints counts and a hash of every decision and of the last
 * snapshot. The text is the same on every CPU that decides alike. */
#include "tcuq_device.h"

#ifndef LONG_RUN_STEPS
#define LONG_RUN_STEPS 2000u
#endif

void put_char(char character); /* the CPU's own */

static uint32_t random_state = 1u;
static uint32_t hash = 2166136261u;
static uint8_t posterior[TCUQ_DEVICE_CLASSES];
static int8_t features[TCUQ_DEVICE_WIDTH + 1u];
static int16_t health[TCUQ_DEVICE_HEALTH + 1u];

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 16) % limit;
}

static void hash_number(uint32_t number)
{
    for (uint8_t i = 0u; i < 4u; i++) {
        hash = (hash ^ (number & 255u)) * 16777619u;
        number >>= 8;
    }
}

static void put_number(const char *name, uint32_t number)
{
    char digits[8];
    while (*name != '\0') {
        put_char(*name++);
    }
    for (uint8_t i = 0u; i < 8u; i++) {
        digits[7u - i] = "0123456789abcdef"[number & 15u];
        number >>= 4;
    }
    for (uint8_t i = 0u; i < 8u; i++) {
        put_char(digits[i]);
    }
}

/* A class that changes now and then, features near its own, and after half of the steps another world. */
static void next_inputs(uint32_t step)
{
    static uint32_t label = 0u;
    const uint32_t spread = (step < (LONG_RUN_STEPS / 2u)) ? 9u : 127u;
    uint32_t rest = 255u;
    if (random_below(8u) == 0u) {
        label = random_below(TCUQ_DEVICE_CLASSES);
    }
    for (uint32_t i = 0u; i < TCUQ_DEVICE_CLASSES; i++) {
        posterior[i] = (uint8_t)random_below((rest / (spread > 9u ? 2u : 8u)) + 1u);
        rest -= posterior[i];
    }
    posterior[label] = (uint8_t)(posterior[label] + ((rest > 255u - posterior[label]) ? 0u : rest));
    for (uint32_t i = 0u; i < TCUQ_DEVICE_WIDTH; i++) {
        const int32_t centre = (int32_t)((label * 37u + i * 11u) % 81u) - 40;
        const int32_t noise = (int32_t)random_below(2u * spread + 1u) - (int32_t)spread;
        const int32_t value = centre + noise;
        features[i] = (int8_t)((value > 127) ? 127 : ((value < -127) ? -127 : value));
    }
    for (uint32_t i = 0u; i < TCUQ_DEVICE_HEALTH; i++) {
        health[i] = (int16_t)((int32_t)random_below(spread * 100u) - (int32_t)(spread * 50u));
    }
}

int main(void)
{
    static uint8_t snapshot[TCUQ_DEVICE_SNAPSHOT_BYTES];
    uint32_t abstained = 0u;
    uint32_t alarms = 0u;
    if (tcuq_init(&tcuq_device) != TCUQ_OK) {
        put_number("refused ", 0u);
    }
    for (uint32_t step = 0u; step < LONG_RUN_STEPS; step++) {
        tcuq_decision decision;
        next_inputs(step);
        tcuq_step(&tcuq_device, posterior, (TCUQ_DEVICE_WIDTH > 0u) ? features : NULL,
                  (TCUQ_DEVICE_HEALTH > 0u) ? health : NULL, &decision);
        hash_number(decision.label);
        hash_number(decision.steady_label);
        hash_number(decision.risk);
        hash_number(decision.expected_error);
        hash_number(decision.novelty_q10);
        hash_number((uint32_t)decision.threshold_q16);
        hash_number(((uint32_t)decision.outcome << 16) | ((uint32_t)decision.exceeded << 8) | decision.alarm);
        hash_number(((uint32_t)decision.reason << 16) | ((uint32_t)decision.withheld << 8) | decision.cause);
        abstained += (decision.outcome == (uint8_t)TCUQ_ABSTAIN) ? 1u : 0u;
        alarms += (decision.alarm != 0u) ? 1u : 0u;
    }
    if (tcuq_snapshot(&tcuq_device, snapshot, sizeof snapshot) == TCUQ_OK) {
        for (uint32_t i = 0u; i < sizeof snapshot; i++) {
            hash_number(snapshot[i]);
        }
    }
    put_number("abstained ", abstained);
    put_number(" alarms ", alarms);
    put_number(" hash ", hash);
    put_char('\n');
    return 0;
}
