/* SPDX-License-Identifier: Apache-2.0 */
/* Version 4 of the record, and the signed acknowledgement: the number of a key, then a truncated HMAC. */
#include "tcuq_sign.h"

#include <stddef.h>

#include "tcuq_copy.h"
#ifdef __FRAMAC__
#include "tcuq_acsl_sign.h"
#endif

#define TCUQ_RECORD_COMMON 93u
#define TCUQ_RECORD_PLAIN 3u
#define TCUQ_RECORD_SIGNED 4u

tcuq_status tcuq_sign_record(const uint8_t *record, uint8_t key, tcuq_mac mac, void *context, uint8_t *to,
                             uint32_t size)
{
    if ((to == NULL) || (size < TCUQ_SIGNED_BYTES)) {
        return TCUQ_ERROR_BUFFER;
    }
    if ((record == NULL) || (mac == NULL) || (record[0] != TCUQ_RECORD_PLAIN)) {
        return TCUQ_ERROR_RECORD;
    }
    tcuq_copy_bytes(to, record, TCUQ_RECORD_COMMON);
    to[0] = TCUQ_RECORD_SIGNED;
    to[TCUQ_RECORD_COMMON] = key;
    //@ calls tcuq_any_mac;
    mac(context, to, TCUQ_RECORD_COMMON + 1u, &to[TCUQ_RECORD_COMMON + 1u]);
    return TCUQ_OK;
}

bool tcuq_ack_is_authentic(const uint8_t *ack, uint8_t key, tcuq_mac mac, void *context)
{
    uint8_t tag[TCUQ_TAG_BYTES];
    //@ calls tcuq_any_mac;
    mac(context, ack, TCUQ_ACK_BYTES + 1u, tag);
    const bool equal = tcuq_tags_equal(tag, &ack[TCUQ_ACK_BYTES + 1u]);
    return equal && (ack[TCUQ_ACK_BYTES] == key);
}
