/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's files on a host: one at a time. */
#include "semihosting.h"

#include <stdio.h>

static FILE *opened;

int32_t semihosting_open(const char *name, file_mode mode)
{
    opened = fopen(name, (mode == FILE_WRITE) ? "wb" : "rb");
    return (opened == NULL) ? -1 : 1;
}

int32_t semihosting_write(int32_t file, const void *buffer, uint32_t size)
{
    (void)file;
    return (fwrite(buffer, 1u, size, opened) == size) ? 0 : -1;
}

int32_t semihosting_close(int32_t file)
{
    (void)file;
    return fclose(opened);
}
