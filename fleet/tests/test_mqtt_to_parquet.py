# SPDX-License-Identifier: Apache-2.0
"""The example that writes records to Parquet loses none and writes no damaged one."""

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fleet.tests.fixtures.records import records_of
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import running_process
from tcuq.telemetry import PLAIN, RECORD
from tcuq_fleet.servers import Broker
from tcuq_fleet.wire import record_topic, records_topic

EXAMPLE = Path(__file__).parents[2] / "examples/mqtt-to-parquet/mqtt_to_parquet.py"


def test_every_valid_record_is_in_a_file_and_no_damaged_one(broker: Broker, tmp_path: Path) -> None:
    """All fields of single records and a gateway's are written; flipped bits are refused."""
    single, many = records_of(range(250)), records_of(range(1000, 1300), sequence=4)
    line = [sys.executable, str(EXAMPLE), str(tmp_path), "--port", str(broker.port)]
    log = tmp_path / "log"
    with running_process([*line, "--seconds", "0.2"], log), Sender(broker.port) as sender:
        wait_for(lambda: "subscribed" in log.read_text("utf-8"))
        sender.send(single)
        sender.client.publish(records_topic("lyon", "gate-1"), many.tobytes(), qos=1)
        for at in range(PLAIN.itemsize):
            damaged = bytearray(single[:1].tobytes())
            damaged[at] ^= 1 << at % 8
            sender.client.publish(record_topic("berlin", 0), bytes(damaged), qos=1)
        messages = len(single) + 1 + PLAIN.itemsize
        wait_for(lambda: np.sum(_counts(log), axis=0).tolist() == [messages, PLAIN.itemsize])
    table = pa.concat_tables(map(pq.read_table, tmp_path.glob("*.parquet"))).sort_by("device")
    assert table["site"].to_pylist() == ["berlin"] * len(single) + ["lyon"] * len(many)
    for name in RECORD.names or ():
        expected = np.concatenate([single[name], many[name]])
        assert table[name].to_pylist() == expected.tolist(), name


def _counts(log: Path) -> list[list[int]]:
    """Return messages and refused records of each file."""
    numbers = re.findall(r"(\d+) messages, (\d+) records refused", log.read_text("utf-8"))
    return [[0, 0], *([int(each) for each in pair] for pair in numbers)]
