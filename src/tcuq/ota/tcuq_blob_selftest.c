/* SPDX-License-Identifier: Apache-2.0 */
/* Self-test of a blob: its own steps, and one number for all decisions on them. */
#include "tcuq_blob_internal.h"

#define TCUQ_CHAIN_BYTES 27u

/* The number of all decisions so far, then this one, as one more checksum. */
static uint32_t tcuq_chain(uint32_t chain, const tcuq_decision *decision)
{
    uint8_t bytes[TCUQ_CHAIN_BYTES];
    tcuq_put_32(bytes, chain);
    tcuq_put_16(&bytes[4], decision->label);
    tcuq_put_16(&bytes[6], decision->steady_label);
    tcuq_put_16(&bytes[8], decision->risk);
    tcuq_put_16(&bytes[10], decision->expected_error);
    tcuq_put_32(&bytes[12], (uint32_t)decision->threshold_q16);
    tcuq_put_32(&bytes[16], decision->novelty_q10);
    bytes[20] = decision->exceeded;
    bytes[21] = decision->reason;
    bytes[22] = decision->outcome;
    bytes[23] = decision->withheld;
    bytes[24] = decision->alarm;
    bytes[25] = decision->amber;
    bytes[26] = decision->cause;
    return tcuq_crc32(bytes, TCUQ_CHAIN_BYTES);
}

/* One step on a row: its posterior, its features and its statistics of input health. */
static uint32_t tcuq_blob_step(tcuq_monitor *monitor, const uint8_t *bytes, uint32_t row, uint32_t chain)
{
    const tcuq_profile *profile = monitor->profile;
    const uint32_t rows = bytes[TCUQ_BLOB_ROWS];
    const uint32_t health_bytes = tcuq_blob_padded(2u * rows * profile->health_count);
    const uint32_t feature_bytes = tcuq_blob_padded(rows * profile->width);
    const uint32_t end = tcuq_get_32(&bytes[TCUQ_BLOB_SIZE]) - bytes[TCUQ_BLOB_TAG];
    const uint8_t *health = &bytes[end - health_bytes];
    const uint8_t *features = &bytes[end - health_bytes - feature_bytes];
    const uint8_t *posteriors =
        &bytes[end - health_bytes - feature_bytes - tcuq_blob_padded(rows * profile->classes)];
    int16_t statistics[TCUQ_MAX_HEALTH];
    tcuq_decision decision;
    for (uint32_t i = 0u; i < profile->health_count; i++) {
        statistics[i] = tcuq_blob_signed_16(&health[2u * (row * profile->health_count + i)]);
    }
    const void *codes = &features[row * profile->width];
    tcuq_step(monitor, &posteriors[row * profile->classes], (profile->width != 0u) ? codes : NULL,
              (profile->health_count != 0u) ? statistics : NULL, &decision);
    return tcuq_chain(chain, &decision);
}

tcuq_status tcuq_blob_selftest(tcuq_monitor *monitor, const uint8_t *bytes)
{
    if (tcuq_init(monitor) != TCUQ_OK) {
        return TCUQ_ERROR_PROFILE;
    }
    uint32_t chain = 0u;
    uint32_t row = 0u;
    uint32_t repeats = 0u;
    for (uint32_t step = tcuq_get_16(&bytes[TCUQ_BLOB_STEPS]); step != 0u; step--) {
        chain = tcuq_blob_step(monitor, bytes, row, chain);
        repeats++;
        if (repeats == bytes[TCUQ_BLOB_DWELL]) {
            repeats = 0u;
            row++;
        }
        if (row == bytes[TCUQ_BLOB_ROWS]) {
            row = 0u;
        }
    }
    tcuq_reset(monitor);
    return (chain == tcuq_get_32(&bytes[TCUQ_BLOB_DECISIONS])) ? TCUQ_OK : TCUQ_ERROR_SELFTEST;
}
