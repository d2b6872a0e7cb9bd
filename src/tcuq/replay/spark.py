# SPDX-License-Identifier: Apache-2.0
"""The Spark backend: `mapInArrow` over a DataFrame of chunks."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tcuq.errors import MissingExtraError
from tcuq.profile import Profile
from tcuq.replay.function import Replay
from tcuq.replay.layout import Layout
from tcuq.replay.results import schema_of
from tcuq.version import __version__

T = TypeVar("T")
U = TypeVar("U")

KEYS = ("stream", "recording", "first_step")
BATCH_ROWS = 64  # chunks at once; Spark's own 10,000 would be half a gigabyte


def replay_frame(
    frame: Any,  # noqa: ANN401 - a DataFrame; pyspark may not be installed
    profiles: Mapping[str, Profile],
    layout: Layout,
    *,
    together: bool = True,
    decisions: bool = False,
) -> Any:  # noqa: ANN401
    """Replay profiles over a DataFrame of chunks; return a DataFrame of results.

    Parameters
    ----------
    frame
        Read from files of chunks. Its session is set to pass 64 rows at a time.
    profiles
        Profiles by name.
    layout
        ``layout_of`` the schema of one of the files: Spark does not pass metadata on.
    together
        Every stream lies in one row group, as ``tcuq pack`` writes all but the longest: then Spark
        splits no stream. False: rows are brought together first, by a shuffle. A stream that is
        split nevertheless is an error, never a wrong result.
    decisions
        As for ``Replay``.
    """
    try:
        from pyspark.sql.pandas.types import from_arrow_schema
    except ImportError:
        raise MissingExtraError("pyspark", "spark") from None
    replay = Replay(profiles, layout, decisions)
    frame.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    keys = [key for key in KEYS if key in frame.columns]  # `recording` may be left out
    if not together:
        frame = frame.repartition("stream").sortWithinPartitions(*keys)
    chunks = frame.select(*keys, "steps", *layout.columns)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        return replay(batches)

    return chunks.mapInArrow(run, from_arrow_schema(schema_of(decisions=decisions)))


def write_run(results: Any, output: str, run: str) -> str:  # noqa: ANN401
    """Write results below `output` under the run's id; replace its earlier results.

    A repeated job leaves each result once.
    """
    path = f"{output.rstrip('/')}/run={run}"
    results.write.mode("overwrite").parquet(path)
    return path


def run_id(frame: Any, profiles: Mapping[str, Profile]) -> str:  # noqa: ANN401
    """Return an id that is the same for the same files and profiles."""
    parts = [__version__, *sorted(frame.inputFiles())]
    parts += [f"{name} {profile.sha256}" for name, profile in sorted(profiles.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def spark_map(session: Any) -> Callable[[Callable[[T], U], Iterable[T]], Iterator[U]]:  # noqa: ANN401
    """Return a `map` that runs on Spark, some calls at a time; a ``map_function`` for ``tune``."""
    context = session.sparkContext
    at_once = 4 * context.defaultParallelism

    def each(function: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        left = list(items)
        while left:
            now, left = left[:at_once], left[at_once:]
            yield from context.parallelize(now, len(now)).map(function).collect()

    return each
