/* SPDX-License-Identifier: Apache-2.0 */
/* Vector table and reset of a Cortex-M without a C library. */
#include <stdint.h>

#include "semihosting.h"

extern uint32_t data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
int main(void);
void reset(void);
void fault(void);

void reset(void)
{
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
