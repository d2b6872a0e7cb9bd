# SPDX-License-Identifier: Apache-2.0
"""Load for the fleet's measurements: records on the wire, sent as fast as they are answered."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.fleet.mqtt import BrokerAddress, MqttClient, encode_publish
from tcuq.fleet.wire import ACK, SIGNED_ACK, record_topic, records_topic
from tcuq.telemetry import CHECKED, PLAIN, RECORD, SIGNED, Keys, sealed

Array = NDArray[Any]
MIXING = np.uint64(0x9E3779B97F4A7C15)
SITE = "berlin"


JITTER = 0.3  # of a run's records: more than a batch, as a minute of a large fleet's is


def hour_of(devices: int, hour: int, first: int = 0) -> Array:
    """A record of each device for an hour; a day is 24 of them.

    Devices send at the moment that a hash of their name gives, every hour anew: they come in the
    same order, but for jitter, and their names are in none.
    """
    records = records_of(np.arange(first, first + devices), hour)
    send_time = np.arange(devices) + np.random.default_rng(hour).random(devices) * JITTER * devices
    return records[np.argsort(send_time)]


def records_of(numbers: Array, hour: int) -> Array:
    """The records of some devices for an hour, in the order of their numbers."""
    number = numbers.astype(np.uint64)
    records = np.zeros(len(number), PLAIN)
    records["version"], records["device"], records["boot"], records["sequence"] = (
        1,
        number * MIXING,
        1,
        hour,
    )
    records["profile"], records["firmware"] = number % 2, 0x01060000 + (number % 3 << 16)
    records["steps"], records["abstained"] = 360 * (hour + 1), 36 * (hour + 1)
    records["epoch"] = (number % 24 + hour) // 24
    half_bits = (number * MIXING >> np.uint64(57)).astype(np.int64) - 125
    records["evidence"] = records["closed"] = half_bits
    records["histogram"][:, 2] = records["steps"] % 65536
    records["histogram_shift"] = np.where(records["steps"] < 65536, 0, 1)
    return sealed(records)


def stored_part(records: Array) -> Array:
    """What of them is stored."""
    rows = records.view(np.uint8).reshape(len(records), -1)
    return rows[:, :CHECKED].copy().view(RECORD)[:, 0]


def packets_of(records: Array, a_message: int) -> Iterator[bytes]:
    """PUBLISH packets of QoS 1, by devices alone or by a gateway for many."""
    for number, at in enumerate(range(0, len(records), a_message)):
        some = records[at : at + a_message]
        topic = (
            record_topic(SITE, int(some["device"][0]))
            if a_message == 1
            else records_topic(SITE, "gate-1")
        )
        yield encode_publish(topic, some.tobytes(), number % 65535 + 1)


def signed(records: Array, keys: Keys) -> Array:
    """Return the records as version 2, signed by key 1."""
    result = np.zeros(len(records), SIGNED)
    for name in RECORD.names or ():
        result[name] = records[name]
    result["version"], result["key"] = 2, 1
    rows = result.view(np.uint8).reshape(len(result), -1)
    result["tag"] = keys.tags(result["key"], result["device"], rows[:, : CHECKED + 1])
    return result


def answered(port: int, records: Array, a_message: int, window: int) -> float:
    """Records a second from the first sent to the last answered, `window` of them on their way."""
    packets = list(packets_of(records, a_message))
    step = max(1, window // a_message // 8)
    heaps = [b"".join(packets[at : at + step]) for at in range(0, len(packets), step)]
    done = sent = 0
    ack_bytes = (SIGNED_ACK if records.dtype == SIGNED else ACK).itemsize
    with MqttClient(BrokerAddress("127.0.0.1", port), ["tcuq/+/+/stored"]) as link:
        began = time.perf_counter()
        for heap in [*heaps, b""]:
            while sent - done > (window if heap else 0):
                for message in link.receive(5.0):
                    done += len(message.payload) // ack_bytes
            link.acknowledge([], heap)
            sent = min(sent + step * a_message, len(records))
        return len(records) / (time.perf_counter() - began)
