/* SPDX-License-Identifier: Apache-2.0 */
#include "semihosting.h"

#define SYS_OPEN 0x01u
#define SYS_CLOSE 0x02u
#define SYS_WRITE 0x05u
#define SYS_READ 0x06u
#define SYS_EXIT_EXTENDED 0x20u
#define STOPPED_BY_APPLICATION 0x20026u

static int32_t call(uint32_t operation, const uint32_t *arguments)
{
#if defined(__arm__)
    register uint32_t r0 __asm__("r0") = operation;
    register const uint32_t *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int32_t)r0;
#else
    register uint32_t a0 __asm__("a0") = operation;
    register const uint32_t *a1 __asm__("a1") = arguments;
    /* The three must be uncompressed and on one page. */
    __asm__ volatile(".option push\n.option norvc\n.align 4\n"
                     "slli zero, zero, 0x1f\nebreak\nsrai zero, zero, 7\n.option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return (int32_t)a0;
#endif
}

int32_t semihosting_open(const char *name, file_mode mode)
{
    uint32_t length = 0u;
    while (name[length] != '\0') {
        length++;
    }
    const uint32_t arguments[] = {(uint32_t)(uintptr_t)name, (uint32_t)mode, length};
    return call(SYS_OPEN, arguments);
}

uint32_t semihosting_read(int32_t file, void *buffer, uint32_t size)
{
    const uint32_t arguments[] = {(uint32_t)file, (uint32_t)(uintptr_t)buffer, size};
    const int32_t left = call(SYS_READ, arguments);
    return ((left < 0) || ((uint32_t)left > size)) ? 0u : size - (uint32_t)left;
}

int32_t semihosting_write(int32_t file, const void *buffer, uint32_t size)
{
    const uint32_t arguments[] = {(uint32_t)file, (uint32_t)(uintptr_t)buffer, size};
    return call(SYS_WRITE, arguments);
}

int32_t semihosting_close(int32_t file)
{
    const uint32_t arguments[] = {(uint32_t)file};
    return call(SYS_CLOSE, arguments);
}

void semihosting_exit(int code)
{
    const uint32_t arguments[] = {STOPPED_BY_APPLICATION, (uint32_t)code};
    for (;;) {
        (void)call(SYS_EXIT_EXTENDED, arguments);
    }
}
