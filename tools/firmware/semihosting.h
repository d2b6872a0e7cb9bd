/* SPDX-License-Identifier: Apache-2.0 */
/* Files and the exit code, through the debugger's door that QEMU keeps open. */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

/* Exit codes of the firmware. */
#define EXIT_DONE 0
#define EXIT_INIT 1  /* tcuq_init refused the profile */
#define EXIT_FILE 2  /* a file cannot be opened, read or written */
#define EXIT_STEP 3  /* a step is larger than the buffer, or cut off */
#define EXIT_FAULT 4 /* the CPU trapped */
#define EXIT_STATE 5 /* a snapshot or a record is refused */

typedef enum { FILE_READ = 1, FILE_WRITE = 5 } file_mode; /* "rb", "wb" */

/* A handle, or -1. */
int32_t semihosting_open(const char *name, file_mode mode);

/* Bytes read: fewer than asked for at the end of the file. */
uint32_t semihosting_read(int32_t file, void *buffer, uint32_t size);

/* 0 if everything was written. */
int32_t semihosting_write(int32_t file, const void *buffer, uint32_t size);

int32_t semihosting_close(int32_t file);

void semihosting_exit(int code) __attribute__((noreturn));

#endif
