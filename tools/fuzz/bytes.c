/* SPDX-License-Identifier: Apache-2.0 */
#include "bytes.h"

#include <stdbool.h>

uint8_t take8(bytes *in)
{
    if (in->left == 0u) {
        return 0u;
    }
    in->left--;
    return *in->at++;
}

uint16_t take16(bytes *in)
{
    const uint16_t low = take8(in);
    return (uint16_t)(low | ((uint16_t)take8(in) << 8));
}

uint32_t take32(bytes *in)
{
    const uint32_t low = take16(in);
    return low | ((uint32_t)take16(in) << 16);
}

int32_t take_in(bytes *in, int32_t low, int32_t high)
{
    const uint32_t span = (uint32_t)high - (uint32_t)low + 1u; /* 0: all of them */
    const bool narrow = (span != 0u) && (span <= 65536u);
    const uint32_t raw = narrow ? take16(in) : take32(in);
    const uint32_t top = narrow ? raw >> 12 : raw >> 28;
    if (top >= 14u) {
        return (top == 15u) ? high : low;
    }
    return (int32_t)((uint32_t)low + ((span == 0u) ? raw : raw % span));
}

enum { NEAR_ZERO, LOW, HIGH, EITHER_END, ANY, SPARSE, GIVEN8, GIVEN16, MODES };

series take_series(bytes *in, int32_t low, int32_t high)
{
    series from = {in, 0u, 0u, low, high};
    from.mode = (uint8_t)(take8(in) % MODES);
    from.state = 2u * take16(in) + 1u;
    return from;
}

static int32_t clip(const series *from, int64_t value)
{
    return (int32_t)((value < from->low) ? from->low : ((value > from->high) ? from->high : value));
}

int32_t next_of(series *from)
{
    const uint64_t span = (uint64_t)((int64_t)from->high - from->low) + 1u;
    from->state ^= from->state << 13;
    from->state ^= from->state >> 17;
    from->state ^= from->state << 5;
    const uint32_t random = from->state;
    const int32_t any = (int32_t)((int64_t)(random % span) + from->low);
    switch (from->mode) {
    case NEAR_ZERO:
        return clip(from, (int64_t)(random % 7u) - 3);
    case LOW:
        return from->low;
    case HIGH:
        return from->high;
    case EITHER_END:
        return ((random >> 7) & 1u) ? from->high : from->low;
    case SPARSE:
        return ((random >> 9) % 8u == 0u) ? any : clip(from, 0);
    case GIVEN8:
        return clip(from, (int64_t)from->low + take8(from->in));
    case GIVEN16:
        return (int32_t)((int64_t)(take16(from->in) % span) + from->low);
    default:
        return any;
    }
}
