# SPDX-License-Identifier: Apache-2.0
"""A folder of records counts and judges as the store and the judge do; the commands say so."""

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tcuq.cli import main
from tcuq.fleet.judge.verdict import Rules, judge
from tcuq.fleet.report.folder import read_folder
from tcuq.fleet.report.summary import report
from tcuq.fleet.store.batch import Batch
from tcuq.fleet.store.tables import Store
from tcuq.telemetry import COUNTERS, PLAIN, Reason
from tools.measurements.fleet_load import sealed, stored_part

Array = NDArray[Any]


def history(rng: np.random.Generator, devices: int) -> Array:
    """Records of devices that reboot, change their firmware and close epochs, in order."""
    rows = []
    for device in range(1, devices + 1):
        firmware, drifts = int(rng.integers(1, 4)), rng.random() < 0.3
        for boot in range(int(rng.integers(1, 3))):
            firmware += int(rng.random() < 0.2)
            steps = rng.integers(0, 100) + (2**32 - 150 if rng.random() < 0.1 else 0)
            for sequence in range(int(rng.integers(1, 6))):
                steps += rng.integers(1, 100)
                one = np.zeros(1, PLAIN)
                one["version"], one["device"], one["profile"] = 1, device, 0xFFFFFFFF
                one["boot"], one["sequence"], one["firmware"] = boot, sequence, firmware
                one["steps"], one["histogram_shift"] = steps % 2**32, 20
                one["abstained"], one["alarms"] = steps % 7, min(sequence, 3)
                one["epoch"] = 3 * boot + sequence // 2
                one["evidence_q8"] = rng.integers(2000, 9000) if drifts else rng.integers(-900, 99)
                rows.append(one)
    return sealed(np.concatenate(rows))


def write(folder: Path, records: Array, rng: np.random.Generator) -> None:
    """In files of any number, some records twice, in any order."""
    folder.mkdir(parents=True, exist_ok=True)
    twice = np.concatenate([records, records[rng.random(len(records)) < 0.3]])
    for i, part in enumerate(np.array_split(rng.permutation(twice), 7)):
        (folder / f"part-{i}.bin").write_bytes(part.tobytes())


def test_a_folder_counts_and_judges_as_the_store_does(tmp_path: Path, store: Store) -> None:
    """Counters that wrap, boots, cohorts, closed epochs, devices and groups that drift."""
    rng = np.random.default_rng(4)
    sites = {site: history(rng, 150) for site in ("berlin", "lyon")}
    sites["lyon"]["device"] += 1000
    for site, records in sites.items():
        write(tmp_path / site, sealed(records), rng)
        for sequence in np.unique(records["sequence"] + 100 * records["boot"]):
            now = records[records["sequence"] + 100 * records["boot"] == sequence]
            store.put(Batch.of([(stored_part(now), store.site(site))]))
    fleet = read_folder(tmp_path)
    rows = store.connection.execute(
        "SELECT profile, firmware, name, sum(steps), sum(abstained), sum(alarms)"
        " FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"
    ).fetchall()
    said = report(fleet, 0.1, 0.1)
    assert {
        (c["profile"], c["firmware"], c["site"], c["steps"], c["abstained"], c["alarms"])
        for c in said["cohorts"]
    } == {("ffffffff", f"0.0.{f}", s, *map(int, sums)) for p, f, s, *sums in rows}
    judged = judge(store.connection, Rules())
    assert judged is not None
    assert (said["devices"], said["judgeable"]) == (judged.devices, judged.judgeable)
    assert said["discovered"] == judged.discovered > 0
    groups = store.connection.execute(
        "SELECT firmware, name, evidence, drifted, named FROM groups LEFT JOIN sites USING (site)"
    ).fetchall()
    ours = [
        (g["firmware"], g["site"], round(g["evidence_bits"], 9), g["drifted"], g["named"])
        for g in said["groups"]
    ]
    theirs = [(f if f is None else f"0.0.{f}", s, round(e, 9), d, n) for f, s, e, d, n in groups]
    assert Counter(ours) == Counter(theirs)


def test_what_is_refused_is_counted_by_reason(tmp_path: Path) -> None:
    """Damage costs the record it is in; the rest of a file that was cut off is read."""
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


def test_an_empty_folder_is_a_fleet_of_none(tmp_path: Path) -> None:
    """And the report says so."""
    said = report(read_folder(tmp_path), 0.1, 0.1)
    assert (said["devices"], said["discovered"], said["groups"]) == (0, 0, [])


def test_the_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text and as JSON; a folder that is not there is an error."""
    write(tmp_path / "berlin", history(np.random.default_rng(6), 80), np.random.default_rng(7))
    assert main(["fleet", "report", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("80 devices, ")
    assert "drifted: device 00000000000000" in text
    assert main(["fleet", "report", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["each"]) == said["devices"] == 80
    assert all(set(COUNTERS) < set(device) for device in said["each"])
    assert main(["fleet", "report", str(tmp_path / "nowhere")]) == 1
    assert "is no folder" in capsys.readouterr().err


def test_the_command_judges_once(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """And says what it found; what it cannot tell is an error, after it has judged."""
    assert main(["fleet", "judge", "--once", "--database", database, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["devices"] == 0
    away = ["--webhook", "http://127.0.0.1:9/hook"]
    assert main(["fleet", "judge", "--once", "--database", database, *away]) == 0
    assert main(["fleet", "judge", "--once", "--database", "postgresql://127.0.0.1:9/x"]) == 1
    assert "the database:" in capsys.readouterr().err
    assert main(["fleet", "judge", "--once", "--keep", "alarms=0"]) == 1
    assert "keep must be one of judgements, alarms," in capsys.readouterr().err


def test_the_command_judges_until_it_is_stopped(database: str, store: Store) -> None:
    """One judgement each full interval, however many judges there are; SIGTERM ends them."""
    command = [sys.executable, "-m", "tcuq.cli", "fleet", "judge", "--every", "1"]
    judges = [
        subprocess.Popen([*command, "--database", database], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    end = time.monotonic() + 30
    many = 0
    while many < 3 and time.monotonic() < end:
        time.sleep(0.2)
        ((many,),) = store.connection.execute("SELECT count(*) FROM judgements").fetchall()
    for one in judges:
        one.terminate()
    said = [one.communicate(timeout=20)[0] for one in judges]
    assert [one.returncode for one in judges] == [0, 0]
    assert sum(text.count(b"0 devices") for text in said) == many == 3
