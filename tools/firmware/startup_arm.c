/* SPDX-License-Identifier: Apache-2.0 */
/* Vector table and reset of a Cortex-M without a C library. */
#include <stdint.h>

#include "semihosting.h"

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);
void reset(void);
void start(void);
void fault(void);

void start(void)
{
#ifdef TRAP_UNALIGNED /* as firmware sets it to find such loads: CCR.UNALIGN_TRP */
    *(volatile uint32_t *)0xE000ED14u |= 8u;
#endif
    const uint32_t *from = data_load;
    for (uint32_t *to = data_start; to < data_end; to++) {
        *to = *from;
        from++;
    }
    for (uint32_t *to = bss_start; to < bss_end; to++) {
        *to = 0u;
    }
    semihosting_exit(main());
}

#ifdef __PIC__ /* addresses are in a table that r9 points at (-mpic-register=r9) */
__attribute__((naked)) void reset(void)
{
    __asm__("ldr r0, =got_start\n\t"
            "mov r9, r0\n\t"
            "ldr r0, =start\n\t"
            "bx r0");
}
#else
void reset(void)
{
    start();
}
#endif

/* Whatever faults ends the run: an emulator that hangs says nothing. */
void fault(void)
{
    semihosting_exit(EXIT_FAULT);
}

typedef void (*handler)(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler handlers[15];
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault, fault, fault, fault, fault, fault,
                         fault, fault, fault, fault}};
