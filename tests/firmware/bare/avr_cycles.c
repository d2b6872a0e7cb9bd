/* SPDX-License-Identifier: Apache-2.0 */
/* As avr.c; the line that a program prints ends with the cycles of all calls of tcuq_step and of the longest, in
 * eights, by a timer. Linked with --wrap=tcuq_step. */
#include <avr/io.h>

#include "tcuq.h"

#define put_char put_plain_char
#include "avr.c"
#undef put_char

static uint32_t total;
static uint32_t worst;

void put_char(char character);
void __real_tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features, const int16_t *health,
                      tcuq_decision *decision);
void __wrap_tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features, const int16_t *health,
                      tcuq_decision *decision);

void __wrap_tcuq_step(tcuq_monitor *monitor, const uint8_t *posterior, const int8_t *features, const int16_t *health,
                      tcuq_decision *decision)
{
    TCCR1B = 1u << CS11; /* it runs on between calls */
    const uint16_t before = TCNT1;
    __real_tcuq_step(monitor, posterior, features, health, decision);
    const uint16_t taken = (uint16_t)(TCNT1 - before);
    total += taken;
    worst = (taken > worst) ? taken : worst;
}

static void put_hexadecimal(uint32_t number)
{
    put_plain_char(' ');
    for (uint8_t left = 8u; left != 0u; left--) {
        put_plain_char("0123456789abcdef"[(number >> (4u * (left - 1u))) & 15u]);
    }
}

void put_char(char character)
{
    if (character == '\n') {
        put_hexadecimal(total);
        put_hexadecimal(worst);
    }
    put_plain_char(character);
}
