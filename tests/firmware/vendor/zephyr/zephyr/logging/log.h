/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in Zephyr 4.4's header of this name: what the example uses. */
#ifndef ZEPHYR_LOGGING_LOG_H
#define ZEPHYR_LOGGING_LOG_H

#include <stdio.h>

#define LOG_MODULE_REGISTER(name) static const char *const log_module = #name
#define LOG_ANY(...) ((void)log_module, (void)fprintf(stderr, __VA_ARGS__), (void)fputc('\n', stderr))
#define LOG_ERR(...) LOG_ANY(__VA_ARGS__)
#define LOG_WRN(...) LOG_ANY(__VA_ARGS__)
#define LOG_DBG(...) ((void)log_module)

#endif
