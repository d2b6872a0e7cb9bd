# SPDX-License-Identifier: Apache-2.0
"""The Spark backend: by path, where Python workers read the row groups, or by `mapInArrow`.

By path Spark distributes only the numbers of row groups, and the workers read the files as the
local backend does. The Arrow route sends every chunk from the JVM to Python: it is slower, and
needs no storage that Python can open.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from tcuq._extras import import_extra
from tcuq.errors import InputError, StreamError
from tcuq.profile import Profile
from tcuq.replay.function import Replay, Runner, schema_of
from tcuq.replay.layout import Layout
from tcuq.replay.local import replays_of
from tcuq.replay.units import Damage, Source, Unit, arrow, files_of, replay_unit, sources_of
from tcuq.version import __version__

T = TypeVar("T")
U = TypeVar("U")
Route = Literal["path", "arrow"]

KEYS = ("stream", "recording", "first_step")
BATCH_ROWS = 64  # chunks at once; Spark's own 10,000 would be half a gigabyte
TASKS_PER_CORE = 4  # a task costs about 20 ms; fewer would let a core wait at the end
SHOWN = 20


def replay_archive(
    session: Any,  # noqa: ANN401 - a SparkSession; pyspark may not be installed
    paths: Sequence[str | os.PathLike[str]],
    profiles: Mapping[str, Profile],
    *,
    route: Route = "path",
    decisions: bool = False,
) -> Any:  # noqa: ANN401
    """Replay profiles over files of chunks; return a DataFrame of results.

    Parameters
    ----------
    session
        The SparkSession.
    paths
        Parquet files in the chunk layout, or folders of them, which the driver can open.
    profiles
        Profiles by name.
    route
        "path", the default: workers open the files themselves, under the same paths. Column
        ``damage`` is null in results; a row group that cannot be read is a row with its name and
        the reason, and all others are done. "arrow": Spark reads the files and sends the chunks
        to Python; a row group that cannot be read ends the job with an error that names the file.
    decisions
        As for ``Replay``.
    """
    if route not in get_args(Route):
        raise InputError(f"route must be one of {', '.join(get_args(Route))}, got {route!r}")
    sources = sources_of(paths)
    if route == "path":
        return _by_path(session, sources, profiles, decisions=decisions)
    first, *others = sources
    for other in others:
        if other.layout != first.layout:
            raise StreamError(
                f"{other.path}: must have the layout of {first.path} on the arrow route;"
                ' use route="path"'
            )
    together = all(len(unit.groups) == 1 for source in sources for unit in source.units)
    frame = session.read.parquet(*(source.path.resolve().as_uri() for source in sources))
    return replay_frame(frame, profiles, first.layout, together=together, decisions=decisions)


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
        Read from files of chunks. Its session is set to pass 64 rows at a time and to verify page
        checksums, which Spark does not do by itself.
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
    schema = _spark_schema(schema_of(decisions=decisions))
    replay = Replay(profiles, layout, decisions)
    frame.sparkSession.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    frame.sparkSession.conf.set("parquet.page.verify-checksum.enabled", "true")
    keys = [key for key in KEYS if key in frame.columns]  # `recording` may be left out
    if not together:
        frame = frame.repartition("stream").sortWithinPartitions(*keys)
    chunks = frame.select(*keys, "steps", *layout.columns)

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        return replay(batches)

    return chunks.mapInArrow(run, schema)


def _by_path(
    session: Any,  # noqa: ANN401
    sources: Sequence[Source],
    profiles: Mapping[str, Profile],
    *,
    decisions: bool,
) -> Any:  # noqa: ANN401
    """Return results, and damage, of units that the workers read."""
    pa, _ = arrow()
    replays = replays_of(profiles, sources, decisions=decisions)
    units = [unit for source in sources for unit in source.units]
    schema = schema_of(decisions=decisions).append(pa.field("damage", pa.string()))

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        numbers = (number for batch in batches for number in batch.column("id").to_pylist())
        return _run_units((units[number] for number in numbers), replays, schema)

    cores = session.sparkContext.defaultParallelism
    tasks = max(1, min(len(units), TASKS_PER_CORE * cores))
    frame = session.range(0, len(units), 1, tasks)
    return frame.mapInArrow(run, _spark_schema(schema))


def _run_units(units: Iterable[Unit], replays: Sequence[Replay], schema: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the batches of these units' results; runs in a worker."""
    pa, _ = arrow()
    runners: dict[int, Runner] = {}
    for unit in units:
        if not os.access(unit.path, os.R_OK):
            raise StreamError(f'{unit.path}: a worker cannot open it; use route="arrow"')
        replay = replays[unit.number]
        runner = runners.get(id(replay)) or runners.setdefault(id(replay), Runner(replay))
        results = replay_unit(unit, runner)
        if isinstance(results, Damage):
            yield pa.RecordBatch.from_pylist([{"damage": str(results)}], schema)
            continue
        results = results.append_column(schema.field("damage"), pa.nulls(len(results), pa.string()))
        yield from results.to_batches()


def _spark_schema(schema: Any) -> Any:  # noqa: ANN401
    return import_extra("pyspark.sql.pandas.types", "spark").from_arrow_schema(schema)


def write_run(results: Any, output: str, run: str) -> str:  # noqa: ANN401
    """Write results below `output` under the run's id; replace its earlier results.

    A repeated job leaves each result once. Damaged row groups are an error, after all results are
    written.
    """
    path = f"{output.rstrip('/')}/run={run}"
    if "damage" not in results.columns:
        results.write.mode("overwrite").parquet(path)
        return path
    results = results.persist()  # small beside the archive, and read twice
    try:
        results.where("damage is null").drop("damage").write.mode("overwrite").parquet(path)
        damaged = results.where("damage is not null").select("damage").collect()
    finally:
        results.unpersist()
    if damaged:
        names = sorted(row["damage"] for row in damaged)
        more = [f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else []
        raise StreamError(
            f"{len(names)} of the input's row groups could not be read; the rest is done, in"
            f" {path}. Repair the files and run the job again:\n"
            + "\n".join(f"damaged: {name}" for name in [*names[:SHOWN], *more])
        )
    return path


def run_id(paths: Iterable[str | os.PathLike[str]], profiles: Mapping[str, Profile]) -> str:
    """Return an id that is the same for the same files, or folders of them, and profiles."""
    parts = [__version__, *sorted(map(str, files_of(paths)))]
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
