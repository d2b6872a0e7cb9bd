/* SPDX-License-Identifier: Apache-2.0 */
/* An ATmega's serial port, and the end of the emulation after main: simavr ends at a sleep without interrupts. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

void put_char(char character)
{
    UCSR0B = 1u << TXEN0;
    while ((UCSR0A & (1u << UDRE0)) == 0u) {
    }
    UDR0 = (unsigned char)character;
}

/* Behind main, in the section that runs after it returns. */
void stop(void) __attribute__((naked, used, section(".fini8")));
void stop(void)
{
    cli();
    sleep_enable();
    sleep_cpu();
}
