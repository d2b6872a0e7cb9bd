/* SPDX-License-Identifier: Apache-2.0 */
/* The projection of wide features beside a plain one, for odd widths and rows, at every alignment: ends with 0
 * if both agree on every feature and on the product with the old ones. */
#include "tcuq_internal.h"

#define MOST_WIDTH 67u
#define GUARD 77

static uint32_t noise = 1u;
static int8_t weights[TCUQ_MAX_DIMENSIONS * MOST_WIDTH];
static int8_t wide[MOST_WIDTH + 3u];
static int32_t biases[TCUQ_MAX_DIMENSIONS];
static int8_t old[TCUQ_MAX_DIMENSIONS + 1u];
static int8_t expected[TCUQ_MAX_DIMENSIONS];

static int32_t draw(void)
{
    noise = noise * 1664525u + 1013904223u;
    return (int32_t)(noise >> 24) - 128;
}

static int8_t project_plainly(const tcuq_profile *profile, const int8_t *features, uint32_t row)
{
    int32_t sum = profile->projection_bias[row];
    for (uint32_t i = 0u; i < profile->width; i++) {
        sum += profile->projection[row * profile->width + i] * features[i];
    }
    sum = tcuq_floor_shift(sum, profile->projection_shift);
    return (int8_t)((sum > 127) ? 127 : ((sum < -127) ? -127 : sum));
}

static bool agrees(uint32_t width, uint32_t rows, uint32_t alignment)
{
    const tcuq_profile profile = {.dimensions = (uint8_t)rows, .width = (uint16_t)width, .projection_shift = 9u,
                                  .projection = weights, .projection_bias = biases};
    int32_t product = 0;
    for (uint32_t i = 0u; i < width; i++) {
        wide[alignment + i] = (int8_t)draw();
    }
    for (uint32_t row = 0u; row < rows; row++) {
        old[row] = (int8_t)draw();
        expected[row] = project_plainly(&profile, &wide[alignment], row);
        product += expected[row] * old[row];
    }
    old[rows] = GUARD;
    bool same = (tcuq_project(&profile, &wide[alignment], old) == product) && (old[rows] == GUARD);
    for (uint32_t row = 0u; row < rows; row++) {
        same = same && (old[row] == expected[row]);
    }
    return same;
}

int main(void)
{
    for (uint32_t i = 0u; i < sizeof weights; i++) {
        weights[i] = (int8_t)draw();
    }
    for (uint32_t row = 0u; row < TCUQ_MAX_DIMENSIONS; row++) {
        biases[row] = draw() * 256;
    }
    for (uint32_t width = 1u; width <= MOST_WIDTH; width++) {
        for (uint32_t rows = 1u; rows <= TCUQ_MAX_DIMENSIONS; rows++) {
            if (!agrees(width, rows, (width + rows) & 3u)) {
                return 1;
            }
        }
    }
    return 0;
}
