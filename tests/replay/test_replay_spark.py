# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

import tcuq
from tcuq.errors import InputError, StreamError
from tcuq.replay import layout_of, replay_files
from tcuq.replay.spark import Route, replay_archive, replay_frame, spark_map, write_run
from tests.fixtures.effort import every
from tests.fixtures.spark_cluster import cluster, environment, job, kill_with_children, submit

Results = Callable[[Path], bytes]
ROUTES: tuple[Route, ...] = ("path", "arrow")
pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """Save the profiles in files of a folder."""
    folder = tmp_path_factory.mktemp("profiles")
    for name, profile in profiles.items():
        profile.save(folder / f"{name}.json")
    return folder


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Run Spark local[2] in a JVM of its own, with several tasks for a small file."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "2")
        started = builder.config("spark.sql.files.maxPartitionBytes", "300000").getOrCreate()
        yield started
        started.stop()


def local_results(
    tmp_path: Path, archive: Path, saved: Path, results: Results
) -> tuple[bytes, list[Path]]:
    """Return the results of `tcuq replay`, and the profiles' files in the same order."""
    paths = sorted(saved.iterdir())
    replay_files({str(path): tcuq.Profile.load(path) for path in paths}, [archive], tmp_path / "l")
    return results(tmp_path / "l/streams.parquet"), paths


def finished(process: subprocess.Popen[str], script: Path) -> Path:
    """Wait for a job; return the folder of its results."""
    with process:
        output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, (script.parent / "job.log").read_text("utf-8")[-3000:]
    return Path(output.split()[-1])


def hurt(archive: Path, group: int) -> tuple[bytes, int]:
    """Return a file's bytes with a page of a row group damaged, and the group's first row."""
    raw = bytearray(archive.read_bytes())
    with parquet.ParquetFile(archive) as file:
        names = file.metadata.schema.names
        column = file.metadata.row_group(group).column(names.index("posteriors"))
        first = sum(file.metadata.row_group(number).num_rows for number in range(group))
    raw[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    return bytes(raw), first


def test_the_how_to_job_gives_the_same_results_as_threads(
    tmp_path: Path, whole_archive: Path, saved: Path, results: Results
) -> None:
    """Results are equal to the byte; written twice, they are there once."""
    expected, paths = local_results(tmp_path, whole_archive, saved, results)
    script = job(tmp_path)
    (write,) = [line for line in script.read_text("utf-8").splitlines() if "(write_run(" in line]
    script.write_text(script.read_text("utf-8").replace(write, f"{write}\n{write}"), "utf-8")
    arguments = (whole_archive, "path", tmp_path / "out", *paths)
    process = submit("local[2]", script, *arguments, log=tmp_path / "job.log")
    assert results(finished(process, script)) == expected
    assert results(tmp_path / "out") == expected


def test_routes_give_the_same_results_as_threads(
    tmp_path: Path,
    session: Any,
    profiles: Mapping[str, tcuq.Profile],
    archive: Path,
    results: Results,
) -> None:
    """Results and decisions are equal to the byte, of streams that span row groups, too."""
    replay_files(profiles, [archive], tmp_path / "local", decisions=True)
    expected = results(tmp_path / "local/streams.parquet")
    for route in ROUTES:
        frame = replay_archive(session, [archive], profiles, route=route, decisions=True)
        assert results(Path(write_run(frame, str(tmp_path / "out"), route))) == expected


def test_streams_split_by_spark_are_refused_or_brought_together(
    tmp_path: Path,
    session: Any,
    profiles: Mapping[str, tcuq.Profile],
    archive: Path,
    results: Results,
) -> None:
    """A frame of split streams needs a shuffle; `spark_map` works, too."""
    replay_files(profiles, [archive], tmp_path / "local")
    chunks, layout = (session.read.parquet(str(archive)), layout_of(parquet.read_schema(archive)))
    with pytest.raises(Exception, match="all rows of a stream stand together"):
        replay_frame(chunks.repartition(3), profiles, layout).collect()
    frame = replay_frame(chunks, profiles, layout, together=False)
    written = Path(write_run(frame, str(tmp_path / "out"), "1"))
    assert results(written) == results(tmp_path / "local/streams.parquet")
    assert [*spark_map(session)(abs, [-1, 2])] == [1, 2]


def test_a_damaged_row_group_is_named_on_both_routes(
    tmp_path: Path,
    session: Any,
    profiles: Mapping[str, tcuq.Profile],
    whole_archive: Path,
    results: Results,
) -> None:
    """By path the rest is done, as by threads; the Arrow route refuses and names the file."""
    damaged, first_row = hurt(whole_archive, group=2)
    path = tmp_path / "hurt.parquet"
    path.write_bytes(damaged)
    local = replay_files(profiles, [path], tmp_path / "local")
    (one,) = local.damaged
    assert one["first_row"] == first_row
    frame = replay_archive(session, [path], profiles)
    pattern = f"the rest is done.*damaged: {path} rows {first_row}\\.\\."
    with pytest.raises(StreamError, match=re.compile(pattern, re.DOTALL)):
        write_run(frame, str(tmp_path / "out"), "1")
    assert results(tmp_path / "out/run=1") == results(tmp_path / "local/streams.parquet")
    frame = replay_archive(session, [path], profiles, route="arrow")
    with pytest.raises(Exception, match=r"hurt\.parquet"):
        write_run(frame, str(tmp_path / "out"), "2")
    assert not list(tmp_path.glob("out/run=2/*.parquet"))


@pytest.mark.parametrize("route", ROUTES)
def test_a_truncated_file_is_named_on_both_routes(
    tmp_path: Path,
    session: Any,
    profiles: Mapping[str, tcuq.Profile],
    whole_archive: Path,
    route: Route,
) -> None:
    """Cut before the job or after the driver read the footer: an error names the file."""
    path = tmp_path / "cut.parquet"
    whole = whole_archive.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StreamError, match=r"cut\.parquet: "):
        replay_archive(session, [path], profiles, route=route)
    path.write_bytes(whole)
    frame = replay_archive(session, [path], profiles, route=route)
    with path.open("r+b") as file:
        file.truncate(len(whole) // 2)
    with pytest.raises(Exception, match=r"cut\.parquet"):
        write_run(frame, str(tmp_path / "out"), "1")
    assert not [p for p in tmp_path.glob("out/run=1/*.parquet") if parquet.read_table(p).num_rows]


def test_a_file_that_workers_cannot_open_asks_for_the_other_route(
    tmp_path: Path, session: Any, profiles: Mapping[str, tcuq.Profile], whole_archive: Path
) -> None:
    """It is no damage of the file: the job ends and names the option."""
    path = tmp_path / "gone.parquet"
    path.write_bytes(whole_archive.read_bytes())
    frame = replay_archive(session, [path], profiles)
    path.unlink()
    with pytest.raises(Exception, match=r"gone\.parquet: a worker cannot open it; use route="):
        frame.collect()
    with pytest.raises(InputError, match="route must be one of path, arrow, got 'mmap'"):
        replay_archive(session, [whole_archive], profiles, route="mmap")  # type: ignore[arg-type]


def test_a_worker_killed_in_mid_job_changes_nothing(
    tmp_path: Path, whole_archive: Path, saved: Path, results: Results
) -> None:
    """With a real master, a worker and then the other's executor killed, the bytes are the same."""
    expected, paths = local_results(tmp_path, whole_archive, saved, results)
    script, log = job(tmp_path), tmp_path / "job.log"
    # Results are delayed a little, so that the worker dies in the middle of the job.
    slow = script.read_text("utf-8").replace(
        "route=route)",
        "route=route)\n"
        "from pyspark.sql.functions import expr\n"
        "results = results.where(\n"
        "    expr(\"java_method('java.lang.Thread', 'sleep', 20L) is null or true\"))",
    )
    assert "sleep" in slow
    script.write_text(slow, "utf-8")
    conf = ("spark.sql.files.maxPartitionBytes=100000", "spark.executor.memory=512m")
    with cluster(tmp_path) as (master, workers):
        for route, worker in zip(every(2, ROUTES), workers, strict=False):
            arguments = (whole_archive, route, tmp_path / route, *paths)
            process = submit(master, script, *arguments, conf=conf, log=log)
            wait_for_a_task(log, process)
            kill_with_children(worker, children_only=route == "arrow")
            assert results(finished(process, script)) == expected
            assert "Lost executor" in log.read_text("utf-8")


def wait_for_a_task(log: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the second task of a stage is done: reading the schema takes one."""
    until = time.monotonic() + 240
    while time.monotonic() < until and process.poll() is None:
        if "Finished task 1.0 in stage" in log.read_text("utf-8"):
            return
        time.sleep(0.05)
    pytest.fail(log.read_text("utf-8")[-3000:])
