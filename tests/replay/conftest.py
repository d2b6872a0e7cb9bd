# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the replay tests: different profiles, and the bundled streams in chunks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tcuq
from tcuq.demo import demo_profile, demo_stream
from tcuq.replay import pack, packing
from tests.fixtures.conformance import quiet_fit, recorded_profile
from tests.fixtures.replay_bytes import decision_bytes

BOX = Path(tcuq.__file__).parent / "data/keywords"
KEY = [("stream", "ascending"), ("profile", "ascending")]


@pytest.fixture(scope="session")
def profiles() -> dict[str, tcuq.Profile]:
    """Return two profiles with the same signals, one with other lags, and the paper's."""
    calibration = demo_stream("calibration")
    return {
        "present": demo_profile(),
        "strict": quiet_fit(calibration, alpha=0.05, budget=0.05),
        "short": quiet_fit(calibration, lags=(1, 2)),
        "paper": recorded_profile("paper"),
    }


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """Pack the bundled streams as device bytes, one or more row groups per stream."""
    return packed(tmp_path_factory.mktemp("archive"), profiles, most=100_000)


@pytest.fixture(scope="session")
def whole_archive(
    tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]
) -> Path:
    """Pack the same with one row group per stream."""
    return packed(tmp_path_factory.mktemp("whole"), profiles, most=packing.MOST_GROUP_BYTES)


def packed(folder: Path, profiles: Mapping[str, tcuq.Profile], most: int) -> Path:
    """Pack the bundled streams in row groups of at most about this many bytes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "GROUP_BYTES", 1)
        patch.setattr(packing, "MOST_GROUP_BYTES", most)
        pack(sorted(BOX.glob("*.npz")), folder / "box.parquet", profile=profiles["present"])
    return folder / "box.parquet"


@pytest.fixture(scope="session")
def expected(profiles: Mapping[str, tcuq.Profile]) -> dict[tuple[str, str], tuple[bytes, bytes]]:
    """Return decisions and last state of a Monitor on each whole stream."""
    outputs = {}
    for path in sorted(BOX.glob("*.npz")):
        stream = demo_stream(path.stem)
        for name, profile in profiles.items():
            monitor = tcuq.Monitor(profile)
            trace = monitor.run(stream)
            outputs[path.stem, name] = (decision_bytes(trace), monitor.snapshot())
    return outputs


@pytest.fixture(scope="session")
def results() -> Callable[[Path], bytes]:
    """Return a run's results in a fixed order, as the bytes of an Arrow stream."""

    def read(path: Path) -> bytes:
        table: Any = parquet.read_table(path).sort_by(KEY).combine_chunks()
        table = table.drop([n for n in table.schema.names if n == "run"]).replace_schema_metadata()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return bytes(sink.getvalue())

    return read
