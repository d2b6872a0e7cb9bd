# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import FitError, StreamError
from tcuq.profile.settings import AnchoredScoreSettings
from tcuq.replay import pack
from tcuq.replay.recalibration import recalibrate

BOX = Path(tcuq.__file__).parent / "data/keywords"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """Pack the bundled streams without faults as an archive."""
    path = tmp_path_factory.mktemp("usual") / "usual.parquet"
    names = ("calibration", "development", "test")
    pack([BOX / f"{name}.npz" for name in names], path, profile=profiles["present"])
    return path


def test_unchanged_streams_give_nearly_the_same_profile(
    usual: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """Without drift the new profile has no objections, and its provenance has its origin."""
    old = profiles["present"]
    result = recalibrate(old, [usual], threads=2)
    assert result.objections == ()
    new = result.profile
    assert new.threshold.anchor == pytest.approx(old.threshold.anchor, rel=0.1)
    assert (new.inputs, new.signals, new.budget) == (old.inputs, old.signals, old.budget)
    assert new.provenance.figures["recalibration.streams"] == 3
    assert f"fitted as profile {old.sha256[:8]}" in new.provenance.findings[0].sentence
    share = result.comparison.shares("recalibrated")["exceeded_share"]
    assert share == pytest.approx(0.1, abs=0.01)


def test_recalibrating_three_times_gave_three_profiles(
    usual: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """The same streams give the same profile, whatever the number of threads."""
    refitted = [recalibrate(profiles["present"], [usual], threads=n).profile for n in (1, 2, 3)]
    assert refitted[0] == refitted[1] == refitted[2]
    assert len({profile.sha256 for profile in refitted}) == 1


def test_odds_do_not_depend_on_the_field(usual: Path, profiles: Mapping[str, tcuq.Profile]) -> None:
    """Tables of surprise are refitted; the table of the odds stays."""
    old = profiles["present"].score
    new = recalibrate(profiles["present"], [usual], threads=2).profile.score
    assert isinstance(old, AnchoredScoreSettings)
    assert isinstance(new, AnchoredScoreSettings)
    unchanged = [mine == theirs for mine, theirs in zip(new.terms, old.terms, strict=True)]
    assert unchanged == [term.scale == "odds" for term in old.terms]
    assert any(unchanged)


def test_streams_that_alarmed_are_left_out(
    archive: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """They are counted, and drift in the other streams gives an objection."""
    result = recalibrate(profiles["present"], [archive], threads=2)
    facts = result.comparison.facts()["profiles"]
    figures = result.profile.provenance.figures
    assert figures["recalibration.streams_left_out"] == facts["present"]["alarmed"] == 3
    assert figures["recalibration.streams"] == 6
    assert "the fleet drifts as a whole" in result.objections[0]


def test_a_drifting_fleet_cannot_calibrate_its_drift_away(
    tmp_path: Path, synthetic: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """If every stream drifts too little to alarm, nothing is written until a person accepts."""
    calibration = synthetic(steps=20_000, width=4, seed=1, starts=[10_000])
    profile = tcuq.fit(calibration, steps_per_false_alarm=1 << 40)
    profile.save(tmp_path / "old.json")
    (tmp_path / "fleet").mkdir()
    for device in range(90):
        part = calibration[200 * device : 200 * device + 400]
        blurred = 0.97 * np.asarray(part.posteriors) + 0.03 / part.classes
        tcuq.Stream(blurred, part.features).save(tmp_path / f"fleet/{device:02d}.npz")
    sources = [str(path) for path in sorted((tmp_path / "fleet").iterdir())]
    assert main(["pack", *sources, "-o", str(tmp_path / "a.parquet")]) == 0
    command = ["recalibrate", str(tmp_path / "old.json"), str(tmp_path / "a.parquet")]
    command += ["-o", str(tmp_path / "new.json")]
    assert main(command) == 1
    assert not (tmp_path / "new.json").exists()
    assert "objection: " in capsys.readouterr().out
    assert main([*command, "--accept"]) == 0
    with pytest.raises(FitError, match="recalibrated already"):
        recalibrate(tcuq.Profile.load(tmp_path / "new.json"), [tmp_path / "a.parquet"])


def test_invalid_recalibrations_are_refused(
    tmp_path: Path, usual: Path, profiles: Mapping[str, tcuq.Profile]
) -> None:
    """A profile without alarm, too few blocks and a damaged file are named."""
    with pytest.raises(FitError, match="without an alarm"):
        recalibrate(profiles["paper"], [usual])
    pack([BOX / "fault_clipping.npz"], tmp_path / "few.parquet", profile=profiles["present"])
    with pytest.raises(FitError, match=r"blocks of|free of alarms"):
        recalibrate(profiles["present"], [tmp_path / "few.parquet"])
    raw = bytearray(usual.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (tmp_path / "hurt.parquet").write_bytes(raw)
    with pytest.raises(StreamError, match=r"hurt\.parquet rows \d+\.\.\d+"):
        recalibrate(profiles["present"], [tmp_path / "hurt.parquet"])
