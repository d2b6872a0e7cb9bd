# SPDX-License-Identifier: Apache-2.0
"""Write the telemetry records of an MQTT broker to Parquet files, which any engine reads.

Every checksum or signature is checked. A message is acknowledged once its file is on the disk; a
crash may repeat it: drop repeated (device, boot, sequence) on reading.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tcuq.telemetry import Keys, decode, to_arrow

MESSAGES = 200  # held in memory at most, each of at most 128 KiB: 25 MB
MAX_BYTES = 1 << 17


def write(folder: Path, messages: list[mqtt.MQTTMessage], keys: Keys | None) -> int:
    """Write the valid records of messages to one new file; return how many were refused."""
    tables, refused = [], 0
    for message in messages:
        decoded = decode(message.payload, keys)
        refused += len(decoded.refused)
        table = pa.Table.from_batches([to_arrow(decoded.records)])
        sites = pa.array([message.topic.split("/")[1]] * len(table), pa.string())
        tables.append(table.append_column("site", sites))
    table = pa.concat_tables(tables)
    if len(table):
        target = folder / f"records-{time.time_ns()}-{os.getpid()}.parquet"
        part = target.with_suffix(".part")
        with part.open("wb", buffering=0) as file:
            pq.write_table(table, file, compression="zstd")
            os.fsync(file.fileno())
        part.rename(target)
    return refused


def connected(client: mqtt.Client, *_: object) -> None:
    """Subscribe, after every connection."""
    client.subscribe([("tcuq/+/+/record", 1), ("tcuq/+/+/records", 1)])


def main() -> None:
    """Run until SIGTERM."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=1883)
    options.add_argument("--seconds", type=float, default=10.0, help="between two files")
    options.add_argument("--keys", type=Path, help='JSON file, {"1": "hex digits"}: only signed')
    args = options.parse_args()
    masters = json.loads(args.keys.read_text("utf-8")) if args.keys else {}
    keys = Keys({int(k): bytes.fromhex(v) for k, v in masters.items()}) if masters else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    messages: list[mqtt.MQTTMessage] = []
    client = mqtt.Client(CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5, manual_ack=True)
    limits = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    limits.ReceiveMaximum, limits.MaximumPacketSize = MESSAGES, MAX_BYTES
    client.on_message = lambda _client, _data, message: messages.append(message)
    client.on_connect = connected
    client.on_subscribe = lambda *_: print("subscribed", flush=True)
    client.connect(args.host, args.port, properties=limits)
    written = time.monotonic()
    while (reason := client.loop(0.2)) == mqtt.MQTT_ERR_SUCCESS:
        if messages and (len(messages) >= MESSAGES or time.monotonic() - written > args.seconds):
            refused = write(args.folder, messages, keys)
            for message in messages:
                client.ack(message.mid, message.qos)
            print(f"{len(messages)} messages, {refused} records refused", flush=True)
            messages.clear()
            written = time.monotonic()
    sys.exit(f"the broker is away: {mqtt.error_string(reason)}; start this again")


if __name__ == "__main__":
    main()
