/* SPDX-License-Identifier: Apache-2.0 */
/* Records and acknowledgements, authenticated by the device's key (docs/spec/record.md). */
#ifndef TCUQ_SIGN_H
#define TCUQ_SIGN_H

#include "tcuq.h"
#include "tcuq_tag.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCUQ_SIGNED_BYTES 106u
#define TCUQ_ACK_BYTES 16u
#define TCUQ_SIGNED_ACK_BYTES 29u

/* A record of version 3 as one of version 4.
 * record: TCUQ_RECORD_BYTES of version 3; null and others are refused. key: the key's number.
 * mac, context: the device's function and its first argument; a null mac is refused.
 * to: takes the signed record, and may be record itself; null is refused.
 * size: bytes that it has room for; fewer than TCUQ_SIGNED_BYTES are refused. */
TCUQ_MUST_CHECK tcuq_status tcuq_sign_record(const uint8_t *record, uint8_t key, tcuq_mac mac, void *context,
                                             uint8_t *to, uint32_t size);

/* Whether an acknowledgement of TCUQ_SIGNED_ACK_BYTES carries the tag of this key. It takes equally long
 * wherever the tag is wrong.
 * ack: TCUQ_SIGNED_ACK_BYTES. key: the key's number. mac, context: the device's function and its argument. */
TCUQ_MUST_CHECK bool tcuq_ack_is_authentic(const uint8_t *ack, uint8_t key, tcuq_mac mac, void *context);

#ifdef __cplusplus
}
#endif

#endif
