# SPDX-License-Identifier: Apache-2.0
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import tcuq
from tcuq.replay import replay_files
from tools.measurements.spark_cluster import cluster, job, kill_with_children, submit

Results = Callable[[Path], bytes]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """Save the profiles in files of a folder."""
    folder = tmp_path_factory.mktemp("profiles")
    for name, profile in profiles.items():
        profile.save(folder / f"{name}.json")
    return folder


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


def test_spark_gives_the_same_results_as_threads(
    tmp_path: Path, whole_archive: Path, saved: Path, results: Results
) -> None:
    """Results are equal to the byte; written twice, they are there once."""
    expected, paths = local_results(tmp_path, whole_archive, saved, results)
    script = job(tmp_path)
    (write,) = [line for line in script.read_text("utf-8").splitlines() if "(write_run(" in line]
    script.write_text(script.read_text("utf-8").replace(write, f"{write}\n{write}"), "utf-8")
    small = ("spark.sql.files.maxPartitionBytes=300000",)  # several tasks for this small file
    arguments = (whole_archive, whole_archive, tmp_path / "out", *paths)
    process = submit("local[2]", script, *arguments, conf=small, log=tmp_path / "job.log")
    assert results(finished(process, script)) == expected
    assert results(tmp_path / "out") == expected


def test_streams_split_by_spark_are_brought_together(
    tmp_path: Path, archive: Path, saved: Path, results: Results
) -> None:
    """If a stream spans row groups, a shuffle gives the same bytes; `spark_map` works, too."""
    expected, paths = local_results(tmp_path, archive, saved, results)
    script = job(tmp_path)
    shuffled = script.read_text("utf-8").replace("(one_file)))", "(one_file)), together=False)")
    assert "together=False" in shuffled
    mapped = "from tcuq.replay.spark import spark_map\n"
    mapped += "assert [*spark_map(spark)(abs, [-1, 2])] == [1, 2]"
    script.write_text(shuffled.replace("spark.stop()", f"{mapped}\nspark.stop()"), "utf-8")
    small = ("spark.sql.files.maxPartitionBytes=300000",)
    process = submit(
        "local[2]",
        script,
        archive,
        archive,
        tmp_path / "out",
        *paths,
        conf=small,
        log=tmp_path / "job.log",
    )
    assert results(finished(process, script)) == expected


def test_a_worker_killed_in_mid_job_changes_nothing(
    tmp_path: Path, whole_archive: Path, saved: Path, results: Results
) -> None:
    """With a real master and two workers, one killed, the job ends with the same bytes."""
    expected, paths = local_results(tmp_path, whole_archive, saved, results)
    script = job(tmp_path)
    # One row group per task, delayed a little, so that the worker dies in the middle of the job.
    slow = script.read_text("utf-8").replace(
        "chunks = spark.read.parquet(archive)",
        "from pyspark.sql.functions import expr\n"
        "chunks = spark.read.parquet(archive).where(\n"
        "    expr(\"java_method('java.lang.Thread', 'sleep', 60L) is null or true\"))",
    )
    script.write_text(slow, "utf-8")
    conf = ("spark.sql.files.maxPartitionBytes=100000", "spark.executor.memory=512m")
    with cluster(tmp_path) as (master, workers):
        arguments = (whole_archive, whole_archive, tmp_path / "out", *paths)
        process = submit(master, script, *arguments, conf=conf, log=tmp_path / "job.log")
        wait_for_a_task(tmp_path / "job.log", process)
        kill_with_children(workers[0])
        assert results(finished(process, script)) == expected
        assert "Lost executor" in (tmp_path / "job.log").read_text("utf-8")


def wait_for_a_task(log: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a task of the second stage is done: the first only reads the schema."""
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        if "Finished task 1.0 in stage 1.0" in log.read_text("utf-8"):
            return
        time.sleep(0.05)
    pytest.fail(log.read_text("utf-8")[-3000:])
