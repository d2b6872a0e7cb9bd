# SPDX-License-Identifier: Apache-2.0
"""What a client with a valid certificate can try: each attack sends until it is done."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import numpy as np

from tcuq.errors import FleetError
from tcuq.fleet.mqtt import MqttClient, encode_publish
from tcuq.fleet.wire import device_name
from tcuq.telemetry import sealed
from tools.measurements.attacks.target import ATTACKER, GATEWAY, VICTIM, Target, record_of
from tools.measurements.fleet_load import hour_of

CHUNK_BYTES = 1 << 18
LARGE_BYTES = 100_000
LAST_BOOT = 2**32 - 1

Attack = Callable[[Target, int], None]


def made_up_sites(target: Target, count: int) -> None:
    """A device publishes its valid record under sites that do not exist."""
    record = record_of(ATTACKER).tobytes()
    name = device_name(ATTACKER)
    topics = (f"tcuq/made-up-{number}/{name}/record" for number in range(count))
    send(target, name, ((topic, record) for topic in topics))


def junk_records(target: Target, count: int) -> None:
    """A device publishes random bytes of a record's length."""
    rng = np.random.default_rng(1)
    topic = f"tcuq/home/{device_name(ATTACKER)}/record"
    send(target, device_name(ATTACKER), ((topic, rng.bytes(87)) for _ in range(count)))


def junk_batches(target: Target, count: int) -> None:
    """A gateway publishes batches of a thousand records with wrong checksums, new every time."""
    rng = np.random.default_rng(2)
    batch = hour_of(1000, 1)

    def messages() -> Iterator[tuple[str, bytes]]:
        for _ in range(count // 1000):
            batch["checksum"] = rng.integers(0, 2**32, 1000)
            yield f"tcuq/home/{GATEWAY}/records", batch.tobytes()

    send(target, GATEWAY, messages())


def retained_messages(target: Target, count: int) -> None:
    """A device publishes large retained messages under many topics."""
    flood(target, count, retain=True)


def large_messages(target: Target, count: int) -> None:
    """A device publishes large messages."""
    flood(target, count, retain=False)


def flood(target: Target, count: int, *, retain: bool) -> None:
    """Publish messages of a hundred kilobytes."""
    name, payload = device_name(ATTACKER), bytes(LARGE_BYTES)
    topics = (f"tcuq/large-{number}/{name}/record" for number in range(count))
    send(target, name, ((topic, payload) for topic in topics), retain=retain)


def forged_boots(target: Target, count: int) -> None:
    """A gateway sends the last boot for a device of another site, under its own and that site."""
    forged = record_of(VICTIM)
    forged["boot"] = LAST_BOOT
    payload = sealed(forged).tobytes()
    sites = ("home", "away")
    send(
        target, GATEWAY, ((f"tcuq/{sites[n % 2]}/{GATEWAY}/records", payload) for n in range(count))
    )


def many_boots(target: Target, count: int) -> None:
    """A gateway sends a thousand boots of one device in each message."""
    records = np.repeat(record_of(ATTACKER), 1000)
    records["boot"] = np.arange(1, 1001)
    payload = sealed(records).tobytes()
    send(target, GATEWAY, ((f"tcuq/home/{GATEWAY}/records", payload) for _ in range(count // 1000)))


def send(
    target: Target, name: str, messages: Iterable[tuple[str, bytes]], *, retain: bool = False
) -> None:
    """Publish with QoS 1 as fast as the broker reads; connect again when it hangs up."""
    heap, size = [], 0
    client = None
    for number, (topic, payload) in enumerate(messages):
        packet = encode_publish(topic, payload, number % 65_535 + 1, retain=retain)
        heap.append(packet)
        size += len(packet)
        if size >= CHUNK_BYTES:
            client = _send(target, name, client, b"".join(heap))
            heap, size = [], 0
    client = _send(target, name, client, b"".join(heap))
    if client is not None:
        client.__exit__()


def _send(target: Target, name: str, client: MqttClient | None, data: bytes) -> MqttClient | None:
    try:
        client = client or MqttClient(target.address(name), [f"tcuq/home/{name}/stored"])
        client.acknowledge([], data)
        client.receive(0.001)
    except FleetError:
        if client is not None:
            with suppress(FleetError):
                client.__exit__()
        time.sleep(0.01)
        return None
    return client


# Attack, messages or records of a full run, and what it does in words.
ATTACKS: tuple[tuple[Attack, int, str], ...] = (
    (made_up_sites, 20_000, "20,000 made-up sites by one device"),
    (junk_records, 100_000, "100,000 junk records by one device"),
    (junk_batches, 100_000, "100,000 junk records by a gateway"),
    (retained_messages, 2_000, "200 MB of retained messages"),
    (large_messages, 2_000, "200 MB of large messages"),
    (forged_boots, 2_000, "boot 2^32-1 for another site's device, 2,000 times"),
    (many_boots, 100_000, "1,000 boots of a device per message, 100 times"),
)
