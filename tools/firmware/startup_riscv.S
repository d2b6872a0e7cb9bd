/* SPDX-License-Identifier: Apache-2.0 */
/* Reset of an RV32 without a C library: .data and .bss first, then main; a trap ends the run. */
    .option arch, +zicsr
    .section .start, "ax"
    .globl reset
reset:
    la sp, stack_top
    la t0, trap
    csrw mtvec, t0
    la a0, data_load
    la a1, data_start
    la a2, data_end
1:  bgeu a1, a2, 2f
    lw t0, 0(a0)
    sw t0, 0(a1)
    addi a0, a0, 4
    addi a1, a1, 4
    j 1b
2:  la a1, bss_start
    la a2, bss_end
3:  bgeu a1, a2, 4f
    sw zero, 0(a1)
    addi a1, a1, 4
    j 3b
4:  call main
    tail semihosting_exit

    .align 2
trap:
    li a0, 4 /* EXIT_FAULT */
    tail semihosting_exit
