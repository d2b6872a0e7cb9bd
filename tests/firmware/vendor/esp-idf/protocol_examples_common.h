/* SPDX-License-Identifier: Apache-2.0 */
/* Declared as in ESP-IDF 6's header of this name: what the example uses. */
#ifndef PROTOCOL_EXAMPLES_COMMON_H
#define PROTOCOL_EXAMPLES_COMMON_H

#include "esp_err.h"

esp_err_t example_connect(void);

#endif
