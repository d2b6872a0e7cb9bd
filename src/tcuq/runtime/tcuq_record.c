/* SPDX-License-Identifier: Apache-2.0 */
/* Record: the telemetry a device sends, 87 bytes, little-endian (docs/spec/record.md). */
#include "tcuq_internal.h"

#if TCUQ_WITH_TELEMETRY

#define TCUQ_RECORD_VERSION 1u

tcuq_status tcuq_record(const tcuq_monitor *monitor, const tcuq_identity *identity, uint8_t *buffer,
                        uint32_t size)
{
    const tcuq_telemetry *telemetry = monitor->telemetry;
    if ((identity == NULL) || (telemetry == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    if ((buffer == NULL) || (size < TCUQ_RECORD_BYTES)) {
        return TCUQ_ERROR_BUFFER;
    }
    uint32_t level = (uint32_t)((monitor->core->ledger_q16 < 0) ? 0 : monitor->core->ledger_q16) >> 16;
    const int16_t evidence = tcuq_epoch_evidence(monitor);
    uint8_t *at = tcuq_put(buffer, TCUQ_RECORD_VERSION, 1u);
    at = tcuq_put(at, identity->flags, 1u);
    at = tcuq_put(at, (uint32_t)identity->device, 4u);
    at = tcuq_put(at, (uint32_t)(identity->device >> 32), 4u);
    at = tcuq_put(at, monitor->profile->hash, 4u);
    at = tcuq_put(at, identity->firmware, 4u);
    at = tcuq_put(at, identity->boot, 4u);
    at = tcuq_put(at, identity->sequence, 4u);
    at = tcuq_put(at, telemetry->steps, 4u);
    at = tcuq_put(at, telemetry->abstained, 4u);
    at = tcuq_put(at, telemetry->denied, 4u);
    at = tcuq_put(at, telemetry->exceeded, 4u);
    at = tcuq_put(at, telemetry->alarms, 2u);
    at = tcuq_put(at, level, 2u);
    at = tcuq_put(at, identity->epoch, 2u);
    at = tcuq_put(at, (uint16_t)evidence, 2u);
    /*@ loop invariant i <= TCUQ_HISTOGRAM_BINS && at == buffer + 50 + 2 * i;
        loop assigns i, at, buffer[50 .. 81];
        loop variant TCUQ_HISTOGRAM_BINS - i; */
    for (uint8_t i = 0u; i < TCUQ_HISTOGRAM_BINS; i++) {
        at = tcuq_put(at, telemetry->histogram[i], 2u);
    }
    at = tcuq_put(at, telemetry->histogram_shift, 1u);
    (void)tcuq_put(at, tcuq_crc32(buffer, TCUQ_RECORD_BYTES - 4u), 4u);
    return TCUQ_OK;
}

#endif
