# SPDX-License-Identifier: Apache-2.0
"""One Spark driver, started by replay.py: the bare job and the replay in turns, as JSON lines."""

import json
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import tcuq
from tcuq.replay import layout_of
from tcuq.replay.results import WIDTH, Rows, schema_of
from tcuq.replay.spark import KEYS, replay_frame, write_run


def bare(batches: Iterable[Any]) -> Iterator[Any]:
    """The same batches taken, rows of the same size given, and no monitor between."""
    rows, last = Rows(decisions=False), None
    snapshot = bytes(250)
    for batch in batches:
        for stream in batch.column("stream").to_pylist():
            if stream != last:
                rows.add(stream, "p", [0] * WIDTH, evidence_bits=0.0, snapshot=snapshot)
                last = stream
        if len(rows):
            yield rows.batch()


def main() -> None:
    """archive, one file of it, output, a profile, pairs."""
    archive, one_file, output, profile, pairs = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    layout = layout_of(parquet.read_schema(one_file))
    profiles = {"p": tcuq.Profile.load(profile)}
    schema = from_arrow_schema(schema_of(decisions=False))
    for number in range(int(pairs) + 1):  # the first warms up
        frame = spark.read.parquet(archive)
        jobs = {
            "replay": lambda frame=frame: replay_frame(frame, profiles, layout),
            "bare": lambda frame=frame: frame.select(*KEYS, "steps", *layout.columns).mapInArrow(
                bare, schema
            ),
        }
        for name in sorted(jobs, reverse=bool(number % 2)):
            begun = time.perf_counter()
            write_run(jobs[name](), output, name)
            seconds = time.perf_counter() - begun
            print(json.dumps({"pair": number, "job": name, "seconds": seconds}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
