# SPDX-License-Identifier: Apache-2.0
"""Replay by threads: packing, the same bytes as one thread, also after a kill, and the how-to."""

import glob
import json
import random
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.errors import StreamError
from tcuq.replay import ChunkWriter, layout_of, pack, replay_files
from tcuq.replay.comparison import page
from tcuq.replay.layout import Chunks
from tcuq.replay.units import sources_of
from tests.fixtures.effort import every
from tests.fixtures.pages import blocks

BOX = Path(tcuq.__file__).parent / "data/keywords"
FILES = 24
PAGE = "docs/howto/replay.md"


def table_of(streams: Mapping[str, tcuq.Stream]) -> Any:
    """Return streams as a table with one row per step."""
    columns: dict[str, Any] = {"stream": [], "recording": []}
    for name, stream in streams.items():
        columns["stream"] += [name] * len(stream)
        begins = np.isin(np.arange(len(stream)), stream.starts)
        columns["recording"] += (np.cumsum(begins) - 1).tolist()
    for prefix in ("posterior", "feature"):
        rows = np.concatenate([getattr(s, f"{prefix}s") for s in streams.values()])
        columns |= {f"{prefix}_{i}": column for i, column in enumerate(rows.T)}
    columns["label"] = np.concatenate([np.asarray(s.labels) for s in streams.values()])
    return pa.table(columns)


def test_npz_csv_and_tables_give_the_same_chunks(tmp_path: Path) -> None:
    """Every source format gives the same chunks."""
    names = ("fault_clipping", "test")
    streams = {name: demo_stream(name) for name in names}
    for name, stream in streams.items():
        stream.save(tmp_path / f"{name}.npz")
    table = table_of(streams)
    csv.write_csv(table, tmp_path / "table.csv")
    parquet.write_table(table, tmp_path / "table.parquet", row_group_size=777)
    packed = []
    every = [[f"{n}.npz" for n in names], ["table.csv"], ["table.parquet"]]
    for number, sources in enumerate(every):
        path = tmp_path / f"{number}.chunks"
        steps = pack([tmp_path / s for s in sources], path, kind=streams["test"].kind)
        assert steps == sum(map(len, streams.values()))
        read = parquet.read_table(path)
        dtype = layout_of(read.schema).columns["posteriors"][0]
        posteriors = np.frombuffer(b"".join(read["posteriors"].to_pylist()), dtype)
        keys = read.select(["stream", "recording", "first_step", "steps", "labels"])
        packed.append((keys.to_pylist(), posteriors))
    for keys, posteriors in packed[1:]:
        assert keys == packed[0][0]
        np.testing.assert_allclose(posteriors, packed[0][1], rtol=1e-6)


def test_a_packed_stream_is_a_stream(tmp_path: Path, profile: tcuq.Profile, archive: Path) -> None:
    """One stream loads as its quantised numbers; several are refused with the command for them."""
    stream = demo_stream("test")
    stream.save(tmp_path / "test.npz")
    pack([tmp_path / "test.npz"], tmp_path / "p.parquet", profile=profile)
    loaded = tcuq.Stream.load(tmp_path / "p.parquet")
    assert loaded.kind == "probabilities"
    assert loaded.starts.tolist() == stream.starts.tolist()
    scale = profile.inputs.feature_scale
    assert scale is not None
    inside = np.clip(np.asarray(stream.features), -127 * scale, 127 * scale)
    np.testing.assert_allclose(np.asarray(loaded.features), inside, atol=0.51 * scale)
    with pytest.raises(StreamError, match="several streams: tcuq replay"):
        tcuq.Stream.load(archive)


@pytest.mark.parametrize(
    ("streams", "message"),
    [
        (["b", "b", "a"], "'a' must not come after 'b': sort by stream"),
        (["a", "b", "a"], "'a' must not come after 'b'"),
    ],
)
def test_streams_out_of_order_are_refused(tmp_path: Path, streams: list[str], message: str) -> None:
    """They are refused and no file is left."""
    rows = {"stream": streams, "posterior_0": [0.5] * 3, "posterior_1": [0.5] * 3}
    parquet.write_table(pa.table(rows), tmp_path / "t.parquet")
    with pytest.raises(StreamError, match=message):
        pack([tmp_path / "t.parquet"], tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_what_cannot_be_packed_is_refused(
    tmp_path: Path, synthetic: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other endings, other shapes and invalid numbers are refused; the file is named."""
    (tmp_path / "a.txt").write_text("", "utf-8")
    synthetic().save(tmp_path / "a.npz")
    synthetic(classes=4).save(tmp_path / "b.npz")
    (tmp_path / "c.csv").write_text("posterior_0,posterior_1\n0.5,0.9\n", "utf-8")
    (tmp_path / "d.csv").write_text("chance\n0.5\n", "utf-8")
    out = str(tmp_path / "out.parquet")
    for sources, message in (
        (["a.txt"], "must end in .npz, .csv or .parquet"),
        (["a.npz", "b.npz"], "stream 'b': must have 3 classes and 4 features"),
        (["c.csv"], "posteriors of step 0 must sum to 1"),
        (["d.csv"], "column 'posterior_0' is missing"),
    ):
        assert main(["pack", *(str(tmp_path / s) for s in sources), "-o", out]) == 1
        assert message in capsys.readouterr().err


def test_a_stream_in_place_of_an_archive_says_how_to_pack_it(
    saved_profiles: list[str], tmp_path: Path, synthetic: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`replay` reads archives; a missing one is named without the library's own words."""
    synthetic().save(tmp_path / "a.npz")
    for name, message in (("a.npz", "tcuq pack"), ("none.parquet", "none.parquet: No such file")):
        words = ["replay", saved_profiles[0], str(tmp_path / name), "-o", str(tmp_path / "out")]
        assert main(words) == 1
        assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def saved_profiles(
    tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]
) -> list[str]:
    """Save the profiles in files."""
    folder = tmp_path_factory.mktemp("profiles")
    for name, profile in profiles.items():
        profile.save(folder / f"{name}.json")
    return [str(folder / f"{name}.json") for name in profiles]


@pytest.fixture(scope="module")
def long_archive(tmp_path_factory: pytest.TempPathFactory, archive: Path) -> Path:
    """Pack copies of the bundled streams in as many files."""
    folder = tmp_path_factory.mktemp("long")
    with parquet.ParquetFile(archive) as file:
        layout, batches = layout_of(file.schema_arrow), list(file.iter_batches())
    for number in range(FILES):
        with ChunkWriter(folder / f"{number:02d}.parquet", layout) as writer:
            chunks, recording = Chunks(layout, "", 0), 0
            for span in (span for batch in batches for span in chunks.spans(batch)):
                recording = 0 if span.starts_stream else recording + span.starts_recording
                writer.add(f"{number:02d}-{span.stream}", recording, span.columns)
    return folder


def test_threads_give_the_same_results_as_one(
    tmp_path: Path, archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Results and decisions are equal to the byte, in the order of the input."""
    for threads in (1, 2, 5):
        replay_files(profiles, [archive], tmp_path / str(threads), threads=threads, decisions=True)
    files = [(tmp_path / name / "streams.parquet").read_bytes() for name in "125"]
    assert files[0] == files[1] == files[2]


def test_a_stream_longer_than_a_row_group_is_one_unit(archive: Path) -> None:
    """Groups that share a stream are read in sequence, others separately."""
    (source,) = sources_of([archive])
    groups = [unit.groups for unit in source.units]
    assert sum(groups, ()) == tuple(range(len(sum(groups, ()))))
    streams = [tcuq.Stream.load(path) for path in BOX.glob("*.npz")]
    assert len(groups) == len(streams)
    assert max(map(len, groups)) > 1
    with parquet.ParquetFile(archive) as file:
        assert sum(unit.rows for unit in source.units) == file.metadata.num_rows


def test_finished_parts_are_not_run_again(
    tmp_path: Path, archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Only missing or torn parts are run again."""
    replay_files(profiles, [archive], tmp_path, threads=2)
    whole = (tmp_path / "streams.parquet").read_bytes()
    parts = sorted((tmp_path / "parts").iterdir())
    parts[3].unlink()
    parts[5].write_bytes(parts[5].read_bytes()[:100])  # as a power cut may leave it
    intact = [path for number, path in enumerate(parts) if number not in (3, 5)]
    before = {path: path.stat().st_mtime_ns for path in intact}
    replay_files(profiles, [archive], tmp_path, threads=2)
    assert (tmp_path / "streams.parquet").read_bytes() == whole
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert parts[3].exists()


def test_killed_at_ten_random_times_and_resumed(
    tmp_path: Path, long_archive: Path, saved_profiles: list[str]
) -> None:
    """The results equal those of an uninterrupted run."""
    code = "import sys; from tcuq.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "replay", *saved_profiles, str(long_archive)]
    subprocess.run([*command, "-o", str(tmp_path / "whole")], check=True, capture_output=True)
    killed = 0
    rng = random.Random(7)  # noqa: S311 - when to kill is no secret
    times = every(3, sorted(rng.sample(range(FILES - 1), 10)))
    for done in times:
        process = subprocess.Popen([*command, "-o", str(tmp_path / "cut"), "--threads", "1"])
        while process.poll() is None and len([*tmp_path.glob("cut/parts/*.arrow")]) < done:
            time.sleep(0.002)
        process.kill()
        killed += process.wait() != 0
    assert killed >= len(times) - 1  # the last may have ended by itself
    subprocess.run([*command, "-o", str(tmp_path / "cut")], check=True, capture_output=True)
    cut, whole = (tmp_path / name / "streams.parquet" for name in ("cut", "whole"))
    assert cut.read_bytes() == whole.read_bytes()


def test_a_damaged_row_group_is_named_and_the_rest_is_done(
    tmp_path: Path,
    archive: Path,
    profiles: Mapping[str, tcuq.Profile],
    saved_profiles: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """File and rows are named, the exit code is 1, and every other stream has results."""
    raw = bytearray(archive.read_bytes())
    with parquet.ParquetFile(archive) as file:
        names = file.metadata.schema.names
        column = file.metadata.row_group(2).column(names.index("features"))
        before = sum(file.metadata.row_group(number).num_rows for number in range(2))
    raw[column.data_page_offset + column.total_compressed_size // 2] ^= 0xFF
    hurt = tmp_path / "hurt.parquet"
    hurt.write_bytes(raw)
    assert main(["replay", *saved_profiles, str(hurt), "-o", str(tmp_path / "run")]) == 1
    output = capsys.readouterr()
    damaged = json.loads((tmp_path / "run/summary.json").read_text("utf-8"))["damaged"]
    assert len(damaged) == 1
    assert damaged[0]["file"] == str(hurt)
    assert damaged[0]["first_row"] <= before < damaged[0]["first_row"] + damaged[0]["rows"]
    assert f"damaged: {hurt} rows {damaged[0]['first_row']}.." in output.out
    assert "could not be read; the rest is done" in output.err
    whole = replay_files(profiles, [archive], tmp_path / "whole").facts()["profiles"]["present"]
    rest = json.loads((tmp_path / "run/summary.json").read_text("utf-8"))["profiles"]
    assert rest["present.json"]["streams"] == whole["streams"] - 1


def test_other_runs_and_other_files_are_refused(
    tmp_path: Path, archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Results of two runs never mix; a file that holds no chunks is named."""
    replay_files(profiles, [archive], tmp_path)
    with pytest.raises(StreamError, match="holds a run of other files"):
        replay_files({"present": profiles["present"]}, [archive], tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(StreamError, match="at least 1 file"):
        sources_of([other])
    (other / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(StreamError, match=r"a\.parquet: "):
        sources_of([other])


def test_page_shows_every_profile_and_escapes(
    tmp_path: Path, archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Untrusted names are escaped; nothing is fetched or run."""
    hostile = {"<script>": profiles["present"], "strict": profiles["strict"]}
    comparison = replay_files(hostile, [archive], tmp_path)
    text = page(comparison, "a & b")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "a &amp; b" in text
    assert "http" not in text.replace("http-equiv", "")
    assert "strict: 0 streams alarm that did not" in text


def test_how_to_alone_leads_to_a_comparison_of_three_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its commands run in order in a folder of recordings, then its Python."""
    monkeypatch.chdir(tmp_path)
    Path("recordings").mkdir()
    shutil.copy(BOX / "calibration.npz", "calibration.npz")
    for path in BOX.glob("*.npz"):
        shutil.copy(path, "recordings")
    for line in "".join(blocks(PAGE, "console")).splitlines():
        words = shlex.split(line.removeprefix("$ tcuq "))
        expanded = [w for word in words for w in (sorted(glob.glob(word)) or [word])]  # noqa: PTH207
        assert main(expanded) == 0, line
    page = Path("run/report.html").read_text("utf-8")
    assert all(name in page for name in ("monitor.json", "strict.json", "short.json"))
    recorded = [len(tcuq.Stream.load(path)) for path in Path("recordings").iterdir()]
    assert f"{len(recorded)} streams, {sum(recorded):,} steps" in page
    (block,) = (block for block in blocks(PAGE, "python") if block.startswith("from pyarrow"))
    capsys.readouterr()
    exec(compile(block, "replay.md", "exec"), {})  # noqa: S102 - our own document
    assert sum(map(int, capsys.readouterr().out.split())) == len(recorded)
