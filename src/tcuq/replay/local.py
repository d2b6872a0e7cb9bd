# SPDX-License-Identifier: Apache-2.0
"""Replay on this machine: threads over row groups, each group's results kept as soon as it is done.

A folder holds a run: `run.json` says of what, `parts/` what is done, then `streams.parquet` a row a
stream and profile, and `summary.json` their sums.
"""

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcuq._atomic import atomic_write
from tcuq._progress import Progress
from tcuq.errors import StreamError
from tcuq.profile import Profile
from tcuq.replay.comparison import Comparison
from tcuq.replay.function import Replay, Runner
from tcuq.replay.results import schema_of
from tcuq.replay.units import Source, Unit, arrow, sources_of
from tcuq.version import __version__

FORMAT = "tcuq.replay/1"
BATCH_ROWS = 64  # chunks at once: a few megabytes
MERGED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Damage:
    """Row groups that could not be read, or whose rows break a rule; the others are done."""

    file: str
    first_row: int
    rows: int
    reason: str


def replay_files(
    profiles: Mapping[str, Profile],
    paths: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    threads: int | None = None,
    decisions: bool = False,
) -> Comparison:
    """Run profiles over files of chunks, into a folder.

    Parameters
    ----------
    profiles
        By the names their results have; the others are compared with the first.
    paths
        Parquet files in the chunk layout, or folders of them.
    output
        The run's folder. Run again after an interruption: what is done is not done again.
    threads
        How many row groups at once; as many as there are cores if None.
    decisions
        Keep a byte a step, too.
    """
    sources = sources_of(paths)
    replays = _replays(profiles, sources, decisions=decisions)
    folder = Path(output)
    _begin(folder, _run(profiles, sources, decisions=decisions))
    units = [unit for source in sources for unit in source.units]
    damage = _work(folder, units, replays, threads or os.cpu_count() or 1)
    return _finish(folder, units, damage, profiles, decisions=decisions)


def _replays(
    profiles: Mapping[str, Profile], sources: Sequence[Source], *, decisions: bool
) -> list[Replay]:
    """Each file's; one for all files that are laid out alike."""
    found: list[Replay] = []
    for source in sources:
        alike = (replay for replay in found if replay.layout == source.layout)
        found.append(next(alike, None) or Replay(profiles, source.layout, decisions))
    return found


def _run(
    profiles: Mapping[str, Profile], sources: Sequence[Source], *, decisions: bool
) -> dict[str, Any]:
    """What the run is of; the same again goes on, another is refused."""
    return {
        "format": FORMAT,
        "library": __version__,
        "profiles": {name: profile.sha256 for name, profile in profiles.items()},
        "files": {str(source.path): source.digest for source in sources},
        "decisions": decisions,
    }


def _begin(folder: Path, run: Mapping[str, Any]) -> None:
    held = folder / "run.json"
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    if not held.is_file():
        with atomic_write(held) as file:
            file.write(json.dumps(run, indent=1).encode())
    try:
        same = json.loads(held.read_bytes()) == run
    except ValueError:
        same = False
    if not same:
        raise StreamError(
            f"{folder}: holds a run of other files, profiles or options;"
            " remove it, or name another output"
        )


def _work(
    folder: Path, units: Sequence[Unit], replays: Sequence[Replay], threads: int
) -> list[Damage]:
    """Every unit that is not done yet; what is damaged, in the files' order."""
    left = [unit for unit in units if _part(folder / "parts" / unit.name) is None]
    found: list[Damage | None] = []
    # A thread makes its monitors once: that takes as long as a hundred chunks.
    mine = threading.local()

    def work(unit: Unit) -> Damage | None:
        replay = replays[unit.number]
        runners: dict[int, Runner] = mine.__dict__.setdefault("runners", {})
        runner = runners.get(id(replay)) or runners.setdefault(id(replay), Runner(replay))
        return _do(unit, replay, runner, folder)

    with (
        Progress("steps", total=sum(unit.steps for unit in left)) as progress,
        ThreadPoolExecutor(threads) as pool,
    ):
        try:
            waiting = {pool.submit(work, unit): unit for unit in left}
            for done in as_completed(waiting):
                found.append(done.result())
                progress.advance(waiting[done].steps)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    damage = [one for one in found if one is not None]
    return sorted(damage, key=lambda one: (one.file, one.first_row))


def _do(unit: Unit, replay: Replay, runner: Runner, folder: Path) -> Damage | None:
    """One unit: its results in a file of their own, or what is wrong with it."""
    pa, parquet = arrow()
    try:
        with parquet.ParquetFile(unit.path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            columns = {"stream", "recording", "first_step", "steps", *replay.layout.columns}
            batches = file.iter_batches(
                BATCH_ROWS,
                row_groups=list(unit.groups),
                columns=sorted(columns & set(schema.names)),
                use_threads=False,
            )
            made = runner.run(batches, name=unit.path.stem, first_row=unit.first_row)
            results = pa.Table.from_batches(made, schema_of(decisions=replay.decisions))
    except (StreamError, pa.ArrowException, OSError) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)[:300]
        return Damage(str(unit.path), unit.first_row, unit.rows, said)
    # Not synced to the disk, which would take longer than the work: a part that a power cut leaves
    # torn has no footer, and is not taken for done.
    part = folder / "parts" / unit.name
    aside = part.with_suffix(".aside")
    with pa.ipc.new_file(str(aside), results.schema) as writer:
        writer.write_table(results)
    aside.replace(part)
    return None


def _part(path: Path) -> Any:  # noqa: ANN401 - pyarrow has no types
    """The results in a part; None if it is missing or torn."""
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
) -> Comparison:
    """One file of all parts, in the order of the input, and the sums."""
    _, parquet = arrow()
    found = Comparison(profiles, [asdict(one) for one in damage])
    schema = schema_of(decisions=decisions)
    with (
        atomic_write(folder / "streams.parquet") as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for table in _merged(folder / "parts", units):
            found.take(table)
            writer.write_table(table)
    with atomic_write(folder / "summary.json") as file:
        file.write((json.dumps(found.facts(), indent=1) + "\n").encode())
    return found


def _merged(parts: Path, units: Sequence[Unit]) -> Iterator[Any]:
    """The parts, several small ones at a time."""
    pa, _ = arrow()
    held: list[Any] = []
    size = 0
    for unit in units:
        part = _part(parts / unit.name)
        if part is not None:
            held.append(part)
            size += part.nbytes
        if size >= MERGED_BYTES:
            yield pa.concat_tables(held)
            held, size = [], 0
    if held:
        yield pa.concat_tables(held)
