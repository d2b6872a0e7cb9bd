/* SPDX-License-Identifier: Apache-2.0 */
/* For the proof alone (tools/proof/run.py): what signing asks and changes. Read by Frama-C, never by a compiler. */
#ifndef TCUQ_ACSL_SIGN_H
#define TCUQ_ACSL_SIGN_H

#include "tcuq.h"

/*@ requires record == \null || \valid_read(record + (0 .. TCUQ_RECORD_BYTES - 1));
    requires to == \null || \valid(to + (0 .. size - 1));
    requires to == record || \separated(to + (0 .. size - 1), record + (0 .. TCUQ_RECORD_BYTES - 1));
    requires mac == \null || mac == &tcuq_any_mac;
    assigns to[0 .. TCUQ_SIGNED_BYTES - 1]; */
tcuq_status tcuq_sign_record(const uint8_t *record, uint8_t key, tcuq_mac mac, void *context, uint8_t *to,
                             uint32_t size);

/*@ requires \valid_read(ack + (0 .. TCUQ_SIGNED_ACK_BYTES - 1)) && mac == &tcuq_any_mac;
    assigns \nothing;
    ensures \result <==> (ack[TCUQ_ACK_BYTES] == key && \forall integer k; 0 <= k < 12 ==>
      ack[TCUQ_ACK_BYTES + 1 + k] == tcuq_true_tag(context, ack, TCUQ_ACK_BYTES + 1, k)); */
bool tcuq_ack_is_authentic(const uint8_t *ack, uint8_t key, tcuq_mac mac, void *context);

#endif
