# SPDX-License-Identifier: Apache-2.0
"""One Spark driver, started by replay.py: both routes, the bare job, the bare C loop, in turns."""

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import tcuq
from tcuq.replay.function import WIDTH, Rows, schema_of
from tcuq.replay.spark import KEYS, replay_archive, write_run
from tools.measurements.replay import bare_threads


def bare(batches: Iterable[Any]) -> Iterator[Any]:
    """Read the same batches and yield rows of the same size, without a monitor."""
    rows, last = Rows(decisions=False), None
    snapshot = bytes(250)
    for batch in batches:
        for stream in batch.column("stream").to_pylist():
            if stream != last:
                empty = {"epoch": 0, "evidence_bits": 0.0, "closed_evidence_bits": None}
                rows.add(stream, "p", [0] * WIDTH, **empty, snapshot=snapshot)
                last = stream
        if len(rows):
            yield rows.batch()


def main() -> None:
    """Run the jobs; arguments are archive, output, profile, pairs and steps of the archive."""
    archive, output, profile, pairs, steps = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    profiles = {"p": tcuq.Profile.load(profile)}
    schema = from_arrow_schema(schema_of(decisions=False))
    with tempfile.TemporaryDirectory() as folder:
        loop = bare_threads(profiles["p"], int(steps), Path(folder))

        def through_spark() -> None:
            frame = spark.read.parquet(archive).select(*KEYS, "steps", "posteriors", "features")
            write_run(frame.mapInArrow(bare, schema), output, "bare")

        def by_path() -> None:
            write_run(replay_archive(spark, [archive], profiles), output, "path")

        def by_arrow() -> None:
            write_run(replay_archive(spark, [archive], profiles, route="arrow"), output, "arrow")

        jobs = {"path": by_path, "bare": through_spark, "loop": loop, "arrow": by_arrow}
        for number in range(int(pairs) + 1):  # the first warms up
            for name in sorted(jobs, reverse=bool(number % 2)):
                begun = time.perf_counter()
                jobs[name]()
                seconds = time.perf_counter() - begun
                print(json.dumps({"pair": number, "job": name, "seconds": seconds}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
