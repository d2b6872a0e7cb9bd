# SPDX-License-Identifier: Apache-2.0
"""What the tests of replay share: profiles that differ, and the streams in the box in chunks."""

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.replay import pack, writing

BOX = Path(tcuq.__file__).parent / "data/hapt"
KEY = [("stream", "ascending"), ("profile", "ascending")]


@pytest.fixture(scope="session")
def profiles() -> dict[str, tcuq.Profile]:
    """Two that share their signals, one with other lags, and the paper's."""
    calibration, development = demo_stream("calibration"), demo_stream("development")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        return {
            "present": demo_profile(),
            "strict": tcuq.fit(calibration, alpha=0.05, budget=0.05),
            "short": tcuq.fit(calibration, lags=(1, 2)),
            "paper": tcuq.fit(calibration, development, preset="paper"),
        }


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """The streams in the box as device bytes, a row group or more a stream."""
    return packed(tmp_path_factory.mktemp("archive"), profiles, most=100_000)


@pytest.fixture(scope="session")
def whole_archive(
    tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]
) -> Path:
    """The same, a row group a stream."""
    return packed(tmp_path_factory.mktemp("whole"), profiles, most=writing.MOST_GROUP_BYTES)


def packed(folder: Path, profiles: Mapping[str, tcuq.Profile], most: int) -> Path:
    """The streams in the box, in row groups of at most about so many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "GROUP_BYTES", 1)
        patch.setattr(writing, "MOST_GROUP_BYTES", most)
        pack(sorted(BOX.glob("*.npz")), folder / "box.parquet", profile=profiles["present"])
    return folder / "box.parquet"


@pytest.fixture(scope="session")
def expected(profiles: Mapping[str, tcuq.Profile]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """Decisions and last state of a Monitor on each whole stream."""
    found = {}
    for path in sorted(BOX.glob("*.npz")):
        stream = demo_stream(path.stem)
        for name, profile in profiles.items():
            monitor = tcuq.Monitor(profile)
            trace = monitor.run(stream)
            said = trace.outcome | (trace.exceeded.astype(np.uint8) << 2) | (trace.alarm << 4)
            found[path.stem, name] = (said.tobytes(), monitor.snapshot())
    return found


@pytest.fixture(scope="session")
def results() -> Callable[[Path], bytes]:
    """A run's results in a fixed order, as the bytes of an Arrow stream."""

    def read(path: Path) -> bytes:
        table: Any = parquet.read_table(path).sort_by(KEY).combine_chunks()
        table = table.drop([n for n in table.schema.names if n == "run"]).replace_schema_metadata()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    return read
