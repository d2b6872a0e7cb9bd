/* SPDX-License-Identifier: Apache-2.0 */
/* Record: the telemetry a device sends, 97 bytes, little-endian (docs/spec/record.md). */
#include "tcuq_bytes.h"
#include "tcuq_internal.h"

#if TCUQ_WITH_TELEMETRY

#define TCUQ_RECORD_VERSION 3u
#define TCUQ_RECORD_AMBER 8u /* beside the cause */

tcuq_status tcuq_record(const tcuq_monitor *monitor, const tcuq_identity *identity, uint8_t *buffer, uint32_t size)
{
    if ((identity == NULL) || (monitor->telemetry == NULL)) {
        return TCUQ_ERROR_NULL;
    }
    if ((buffer == NULL) || (size < TCUQ_RECORD_BYTES)) {
        return TCUQ_ERROR_BUFFER;
    }
    const uint16_t label = monitor->telemetry->last_label;
    const int8_t evidence = tcuq_half_bits(tcuq_epoch_evidence(monitor));
    buffer[0] = TCUQ_RECORD_VERSION;
    buffer[1] = monitor->core->cause;
    buffer[26] = 0u;
#if TCUQ_WITH_ALARM
    buffer[26] = (uint8_t)tcuq_last_change(monitor);
    if (tcuq_amber(monitor)) {
        buffer[1] = (uint8_t)(buffer[1] | TCUQ_RECORD_AMBER);
    }
#endif
    tcuq_put_32(&buffer[2], (uint32_t)identity->device);
    tcuq_put_32(&buffer[6], (uint32_t)(identity->device >> 32));
    tcuq_put_32(&buffer[10], monitor->profile->hash);
    tcuq_put_32(&buffer[14], identity->firmware);
    tcuq_put_32(&buffer[18], identity->boot);
    tcuq_put_32(&buffer[22], identity->sequence);
    buffer[27] = (uint8_t)(((label < 255u) && !tcuq_has_outputs(monitor->profile)) ? label : 255u);
    tcuq_put_16(&buffer[28], monitor->core->epoch);
    buffer[30] = (uint8_t)evidence;
    buffer[31] = (uint8_t)monitor->core->last_epoch_evidence;
    tcuq_put_counters(monitor, &buffer[32]);
    /*@ loop invariant i <= TCUQ_EPOCH_MEANS;
        loop assigns i, buffer[83 .. 92];
        loop variant TCUQ_EPOCH_MEANS - i; */
    for (uint32_t i = 0u; i < TCUQ_EPOCH_MEANS; i++) {
        tcuq_put_16(&buffer[83u + 2u * i], tcuq_mean(monitor, i));
    }
    tcuq_put_32(&buffer[TCUQ_RECORD_BYTES - 4u], tcuq_crc32(buffer, TCUQ_RECORD_BYTES - 4u));
    return TCUQ_OK;
}

#endif
