# SPDX-License-Identifier: Apache-2.0
"""`fleet report`: a folder of records is summed and judged as by the store and the judge."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.records import Array, history
from tcuq.cli import main
from tcuq.telemetry import COUNTERS, Reason, sealed
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.report.summary import report
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.store import Store


def write(folder: Path, records: Array, rng: np.random.Generator) -> None:
    """Write records to several files, in random order and with repetitions."""
    folder.mkdir(parents=True, exist_ok=True)
    twice = np.concatenate([records, records[rng.random(len(records)) < 0.3]])
    for i, part in enumerate(np.array_split(rng.permutation(twice), 7)):
        (folder / f"part-{i}.bin").write_bytes(part.tobytes())


def test_a_folder_counts_and_judges_as_the_store_does(tmp_path: Path, store: Store) -> None:
    """Wrapping counters, boots, cohorts, epochs, devices and groups agree with the store."""
    rng = np.random.default_rng(4)
    sites = {site: history(rng, 150) for site in ("berlin", "lyon")}
    sites["lyon"]["device"] += 1000
    for site, records in sites.items():
        write(tmp_path / site, sealed(records), rng)
        for sequence in np.unique(records["sequence"] + 100 * records["boot"]):
            part = records[records["sequence"] + 100 * records["boot"] == sequence]
            store.put(Batch.of([(stored_part(part), store.site(site))]))
    fleet = read_folder(tmp_path)
    rows = store.connection.execute(
        "SELECT profile, firmware, name, sum(steps), sum(abstained), sum(alarms)"
        " FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"
    ).fetchall()
    summary = report(fleet, 0.1, 0.1)
    assert {
        (c["profile"], c["firmware"], c["site"], c["steps"], c["abstained"], c["alarms"])
        for c in summary["cohorts"]
    } == {("ffffffff", f"0.0.{f}", s, *map(int, sums)) for p, f, s, *sums in rows}
    judgement = judge(store.connection, Rules())
    assert judgement is not None
    assert (summary["devices"], summary["judgeable"]) == (judgement.devices, judgement.judgeable)
    assert summary["discovered"] == judgement.discovered > 0
    judged = store.connection.execute("SELECT judged_q8 FROM devices ORDER BY device").fetchall()
    assert [device["evidence_bits"] for device in summary["each"]] == [
        None if q8 is None else q8 / 256 for (q8,) in judged
    ]
    groups = store.connection.execute(
        "SELECT firmware, name, evidence, drifted, named FROM groups LEFT JOIN sites USING (site)"
    ).fetchall()
    reported = [
        (g["firmware"], g["site"], round(g["evidence_bits"], 9), g["drifted"], g["named"])
        for g in summary["groups"]
    ]
    stored = [(f if f is None else f"0.0.{f}", s, round(e, 9), d, n) for f, s, e, d, n in groups]
    assert Counter(reported) == Counter(stored)


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
    write(tmp_path / "berlin", history(np.random.default_rng(6), 80), np.random.default_rng(7))
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
