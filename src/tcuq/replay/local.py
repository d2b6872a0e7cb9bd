# SPDX-License-Identifier: Apache-2.0
"""Replay on this machine: threads over row groups; each group's results are saved at once.

A run's folder has its inputs in `run.json`, finished groups in `parts/`, then one row per stream
and profile in `streams.parquet`, and their sums in `summary.json`.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcuq.errors import StreamError
from tcuq.files import atomic_write
from tcuq.profile import Profile
from tcuq.progress import Progress
from tcuq.replay.comparison import ReplayComparison
from tcuq.replay.function import Replay, Runner, schema_of
from tcuq.replay.units import Damage, Source, Unit, arrow, replay_unit, sources_of
from tcuq.version import __version__

FORMAT = "tcuq.replay/1"
MERGED_BYTES = 16 << 20


def replay_files(
    profiles: Mapping[str, Profile],
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    threads: int | None = None,
    decisions: bool = False,
) -> ReplayComparison:
    """Run profiles over files of chunks, into a folder.

    Parameters
    ----------
    profiles
        By name; the others are compared with the first.
    paths
        Parquet files in the chunk layout, or folders of them.
    output
        The run's folder. After an interruption, call again: finished row groups are skipped.
    threads
        Row groups processed at once; one per core if None.
    decisions
        Whether to store one byte per step, too.
    """
    sources = sources_of(paths)
    replays = replays_of(profiles, sources, decisions=decisions)
    folder = Path(output)
    _begin(folder, _run_facts(profiles, sources, decisions=decisions))
    units = [unit for source in sources for unit in source.units]
    damage = _run_units(folder, units, replays, threads or os.cpu_count() or 1)
    return _finish(folder, units, damage, profiles, decisions=decisions)


def replays_of(
    profiles: Mapping[str, Profile], sources: Sequence[Source], *, decisions: bool
) -> list[Replay]:
    """Return one Replay per file; files of one layout share it."""
    replays: list[Replay] = []
    for source in sources:
        alike = (replay for replay in replays if replay.layout == source.layout)
        replays.append(next(alike, None) or Replay(profiles, source.layout, decisions))
    return replays


def _run_facts(
    profiles: Mapping[str, Profile], sources: Sequence[Source], *, decisions: bool
) -> dict[str, Any]:
    """Return what identifies a run: an equal one is continued, another refused."""
    return {
        "format": FORMAT,
        "library": __version__,
        "profiles": {name: profile.sha256 for name, profile in profiles.items()},
        "files": {str(source.path): source.digest for source in sources},
        "decisions": decisions,
    }


def _begin(folder: Path, run: Mapping[str, Any]) -> None:
    path = folder / "run.json"
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        with atomic_write(path) as file:
            file.write(json.dumps(run, indent=1).encode())
    try:
        same = json.loads(path.read_bytes()) == run
    except ValueError:
        same = False
    if not same:
        raise StreamError(
            f"{folder}: holds a run of other files, profiles or options;"
            " remove it, or name another output"
        )


def _run_units(
    folder: Path, units: Sequence[Unit], replays: Sequence[Replay], threads: int
) -> list[Damage]:
    """Run every unfinished unit; return damage in the files' order."""
    left = [unit for unit in units if _read_part(folder / "parts" / unit.name) is None]
    outcomes: list[Damage | None] = []
    # Each thread creates its monitors once: that costs as much as a hundred chunks.
    per_thread = threading.local()

    def run(unit: Unit) -> Damage | None:
        replay = replays[unit.number]
        runners: dict[int, Runner] = per_thread.__dict__.setdefault("runners", {})
        runner = runners.get(id(replay)) or runners.setdefault(id(replay), Runner(replay))
        return _run_unit(unit, runner, folder)

    with (
        Progress("chunks", total=sum(unit.rows for unit in left)) as progress,
        ThreadPoolExecutor(threads) as pool,
    ):
        try:
            waiting = {pool.submit(run, unit): unit for unit in left}
            for done in as_completed(waiting):
                outcomes.append(done.result())
                progress.advance(waiting[done].rows)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    damage = [one for one in outcomes if one is not None]
    return sorted(damage, key=lambda one: (one.file, one.first_row))


def _run_unit(unit: Unit, runner: Runner, folder: Path) -> Damage | None:
    """Run one unit: write its results to a part, or return its damage."""
    pa, _ = arrow()
    results = replay_unit(unit, runner)
    if isinstance(results, Damage):
        return results
    # Not synced to the disk, which would take longer than the work: a part torn by a power cut has
    # no footer, and is run again.
    part = folder / "parts" / unit.name
    temporary = part.with_suffix(".aside")
    with pa.ipc.new_file(str(temporary), results.schema) as writer:
        writer.write_table(results)
    temporary.replace(part)
    return None


def _read_part(path: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Read the results in a part; None if it is missing or torn."""
    pa, _ = arrow()
    try:
        with pa.ipc.open_file(str(path)) as file:
            return file.read_all()
    except (pa.ArrowException, OSError):
        return None


def _finish(
    folder: Path,
    units: Sequence[Unit],
    damage: Sequence[Damage],
    profiles: Mapping[str, Profile],
    *,
    decisions: bool,
) -> ReplayComparison:
    """Write all parts to one file, in the order of the input, and the sums."""
    _, parquet = arrow()
    comparison = ReplayComparison(profiles, [asdict(one) for one in damage])
    schema = schema_of(decisions=decisions)
    with (
        atomic_write(folder / "streams.parquet") as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for table in _merged(folder / "parts", units):
            comparison.take(table)
            writer.write_table(table)
    with atomic_write(folder / "summary.json") as file:
        file.write((json.dumps(comparison.facts(), indent=1) + "\n").encode())
    return comparison


def _merged(parts: Path, units: Sequence[Unit]) -> Iterator[Any]:
    """Yield the parts, several small ones at a time."""
    pa, _ = arrow()
    tables: list[Any] = []
    size = 0
    for unit in units:
        part = _read_part(parts / unit.name)
        if part is not None:
            tables.append(part)
            size += part.nbytes
        if size >= MERGED_BYTES:
            yield pa.concat_tables(tables)
            tables, size = [], 0
    if tables:
        yield pa.concat_tables(tables)
