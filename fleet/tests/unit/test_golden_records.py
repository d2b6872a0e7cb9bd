# SPDX-License-Identifier: Apache-2.0
"""The ingest's acknowledgements of the golden records are those that the device's C expects."""

import hashlib
import hmac
import struct
from typing import Any

import numpy as np
import pytest

from tcuq.telemetry import Keys
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.mqtt import Message
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.wire import ACK, SIGNED_ACK, record_topic
from tests.fixtures.firmware.golden import device_key, golden


@pytest.mark.parametrize("record", golden()["records"], ids=lambda record: record["name"])
def test_the_ingest_signs_the_acknowledgement_that_the_device_expects(
    record: dict[str, Any],
) -> None:
    """The specification, the ingest and the device's C agree on all 29 bytes."""
    fields, key = record["fields"], golden()["key_id"]
    head = struct.pack("<QIIB", fields["device"], fields["boot"], fields["sequence"], key)
    tag = hmac.digest(device_key(fields["device"]), head, hashlib.sha256)[:12]
    assert bytes.fromhex(record["signed_ack"]) == head + tag
    message = Message(
        record_topic("berlin", fields["device"]).encode(), bytes.fromhex(record["signed"]), 0
    )
    keys = Keys({key: bytes.fromhex(golden()["master_key"])})
    result = Validator(keys=keys).validate([message])
    acks = np.array([(fields["device"], fields["boot"], fields["sequence"])], ACK)
    batch = Batch.of([(result.parts[0].records, 1)])
    assert result.encode_acks(batch, acks).endswith(head + tag)
    assert len(head + tag) == SIGNED_ACK.itemsize == 29
