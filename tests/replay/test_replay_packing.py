# SPDX-License-Identifier: Apache-2.0
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
from tcuq.replay import layout_of, pack


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


def test_a_packed_stream_is_a_stream(tmp_path: Path, profile: tcuq.Profile) -> None:
    """A packed file of one stream loads as the stream's quantised numbers."""
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


def test_several_streams_in_a_file_are_no_stream(archive: Path) -> None:
    """Loading them as one stream is refused with the command that reads them."""
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
