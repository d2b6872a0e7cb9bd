/* SPDX-License-Identifier: Apache-2.0 */
/* The Xtensa simulator's machine in QEMU: from the reset vector to main; text and exit code by `simcall`. */
enum { CALL_EXIT = 1, CALL_WRITE = 4, STANDARD_OUTPUT = 1 };

int main(void);
void put_char(char character);
void start(void);

static void simulator_call(int call, int first, const void *second, int third)
{
    register int a2 __asm__("a2") = call;
    register int a3 __asm__("a3") = first;
    register const void *a4 __asm__("a4") = second;
    register int a5 __asm__("a5") = third;
    __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
}

void put_char(char character)
{
    simulator_call(CALL_WRITE, STANDARD_OUTPUT, &character, 1);
}

void start(void)
{
    simulator_call(CALL_EXIT, main(), 0, 0);
    for (;;) {
    }
}

/* What the chip's ROM holds and Debian's libgcc leaves out: division, and products of 64 bits. */
unsigned int __udivsi3(unsigned int dividend, unsigned int divisor);
unsigned int __umodsi3(unsigned int dividend, unsigned int divisor);
int __divsi3(int dividend, int divisor);
unsigned long long __muldi3(unsigned long long left, unsigned long long right);

int __divsi3(int dividend, int divisor)
{
    const unsigned int size = (dividend < 0) ? 0u - (unsigned int)dividend : (unsigned int)dividend;
    const unsigned int by = (divisor < 0) ? 0u - (unsigned int)divisor : (unsigned int)divisor;
    const unsigned int quotient = __udivsi3(size, by);
    return ((dividend < 0) != (divisor < 0)) ? (int)(0u - quotient) : (int)quotient;
}

unsigned int __umodsi3(unsigned int dividend, unsigned int divisor)
{
    return dividend - __udivsi3(dividend, divisor) * divisor;
}

unsigned int __udivsi3(unsigned int dividend, unsigned int divisor)
{
    unsigned int quotient = 0u;
    unsigned int rest = 0u;
    for (int bit = 31; bit >= 0; bit--) {
        const unsigned int carry = rest >> 31;
        rest = (rest << 1) | ((dividend >> bit) & 1u);
        if ((carry != 0u) || (rest >= divisor)) {
            rest -= divisor;
            quotient |= 1u << bit;
        }
    }
    return quotient;
}

unsigned long long __muldi3(unsigned long long left, unsigned long long right)
{
    unsigned long long product = 0u;
    for (int bit = 0; bit < 64; bit++) {
        product += ((right >> bit) & 1u) != 0u ? left << bit : 0u;
    }
    return product;
}

__asm__(".section .text.reset, \"ax\"\n"
        ".global reset\n"
        "reset: j enter\n"
        ".section .text.enter, \"ax\"\n"
        ".align 4\n"
        "enter: movi a1, stack_top\n"
        "call0 start\n");
