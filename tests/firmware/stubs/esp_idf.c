/* SPDX-License-Identifier: Apache-2.0 */
/* Runs an ESP-IDF application once; the exit code is its self-test's. */
#include "tcuq_device.h"

void app_main(void);

int main(void)
{
    app_main();
    return (int)tcuq_device_selftest();
}
