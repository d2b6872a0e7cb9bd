/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the input health of windows. layout.bin: the number of groups, each group's channels and spread (bytes),
 * frames of a window and frames that are added at once (u32). Reads frames.bin, writes statistics.bin (int16). */
#include "semihosting.h"
#include "tcuq_health.h"

#define GROUPS 5u
#define CHANNELS 64u
#define BLOCK_SAMPLES 2048u

static tcuq_health_group groups[GROUPS];
static tcuq_health_channel channels[CHANNELS];
static tcuq_health health = {.groups = groups, .channels = channels};
static int16_t block[BLOCK_SAMPLES];
static uint32_t sizes[2]; /* frames of a window, frames at once */

static bool read_layout(void)
{
    const int32_t from = semihosting_open("layout.bin", FILE_READ);
    bool valid = (from >= 0) && (semihosting_read(from, &health.group_count, 1u) == 1u) &&
                 (health.group_count <= GROUPS);
    for (uint32_t g = 0u; valid && (g < health.group_count); g++) {
        uint8_t pair[2];
        valid = semihosting_read(from, pair, 2u) == 2u;
        groups[g].channels = pair[0];
        groups[g].spread = pair[1] != 0u;
    }
    return valid && (semihosting_read(from, sizes, sizeof sizes) == sizeof sizes);
}

/* Adds a window; false at the end of the file. */
static bool add_window(int32_t from)
{
    for (uint32_t left = sizes[0]; left != 0u;) {
        const uint32_t count = (left < sizes[1]) ? left : sizes[1];
        const uint32_t bytes = count * health.width * (uint32_t)sizeof block[0];
        if ((bytes > sizeof block) || (semihosting_read(from, block, bytes) != bytes)) {
            return false;
        }
        if (sizes[1] == 1u) {
            tcuq_health_fold(&health, block);
        } else {
            tcuq_health_fold_frames(&health, block, count);
        }
        left -= count;
    }
    return true;
}

int main(void)
{
    const int32_t from = semihosting_open("frames.bin", FILE_READ);
    const int32_t to = semihosting_open("statistics.bin", FILE_WRITE);
    if ((from < 0) || (to < 0) || !read_layout()) {
        return EXIT_FILE;
    }
    if (tcuq_health_init(&health) != TCUQ_OK) {
        return EXIT_INIT;
    }
    while (add_window(from)) {
        int16_t statistics[TCUQ_MAX_HEALTH];
        uint32_t count = 0u;
        for (uint32_t g = 0u; g < health.group_count; g++) {
            count += groups[g].spread ? 4u : 3u;
        }
        if (!tcuq_health_finish(&health, statistics)) {
            return EXIT_STATE;
        }
        if (semihosting_write(to, statistics, count * (uint32_t)sizeof statistics[0]) != 0) {
            return EXIT_FILE;
        }
    }
    return (semihosting_close(to) == 0) ? EXIT_DONE : EXIT_FILE;
}
