# SPDX-License-Identifier: Apache-2.0
"""`fleet report`: a folder of records is summed and judged without any server."""

import json
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.records import history, write_folder
from tcuq.cli import main
from tcuq.telemetry import COUNTERS, Reason
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.report.summary import report


def test_refused_records_are_counted_by_reason(tmp_path: Path) -> None:
    """Damage costs only its own record, and a truncated file is read up to its end."""
    rng = np.random.default_rng(5)
    records = history(rng, 3)
    damaged = bytearray(records[:2].tobytes())
    damaged[40] ^= 1
    (tmp_path / "damaged.bin").write_bytes(damaged)
    (tmp_path / "cut.bin").write_bytes(records[2:4].tobytes()[:-5])
    (tmp_path / "other.txt").write_text("no record at all", "utf-8")
    (tmp_path / "empty.bin").write_bytes(b"")
    fleet = read_folder(tmp_path)
    assert fleet.refused == {Reason.CHECKSUM: 1, Reason.SIZE: 2, Reason.VERSION: 1}
    assert fleet.records == 2


def test_an_empty_folder_is_an_empty_fleet(tmp_path: Path) -> None:
    """The report of an empty folder has no devices and no groups."""
    summary = report(read_folder(tmp_path), 0.1, 0.1)
    assert (summary["devices"], summary["discovered"], summary["groups"]) == (0, 0, [])


def test_the_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints text or JSON; a missing folder is an error."""
    write_folder(
        tmp_path / "berlin", history(np.random.default_rng(6), 80), np.random.default_rng(7)
    )
    assert main(["fleet", "report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("80 devices, ")
    assert "drifted: device 00000000000000" in text
    assert main(["fleet", "report", str(tmp_path), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["each"]) == summary["devices"] == 80
    assert all(set(COUNTERS) < set(device) for device in summary["each"])
    assert main(["fleet", "report", str(tmp_path / "missing")]) == 1
    assert "is not a folder" in capsys.readouterr().err
