# SPDX-License-Identifier: Apache-2.0
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.calibrate.bets import block_means
from tcuq.calibrate.observe import observe, risk_levels
from tcuq.cli import main
from tcuq.errors import CalibrationWarning, FitError, StreamError
from tcuq.profile.settings import AnchoredScoreSettings, Channel
from tcuq.replay import pack
from tcuq.replay.field_distribution import Floats
from tcuq.replay.recalibration import recalibrate
from tcuq.stages.alarm import channel_input, edges_passed
from tcuq.stages.columns import concatenate
from tcuq.stages.score import risk_odds
from tests.fixtures.healthy_streams import health_profile, healthy_stream, without_health

BOX = Path(tcuq.__file__).parent / "data/keywords"


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory, profiles: Mapping[str, tcuq.Profile]) -> Path:
    """Pack the bundled streams without faults as an archive."""
    path = tmp_path_factory.mktemp("usual") / "usual.parquet"
    names = ("calibration", "development", "test")
    pack([BOX / f"{name}.npz" for name in names], path, profile=profiles["present"])
    return path


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack three streams of the calibrated process, with input health, as an archive."""
    folder = tmp_path_factory.mktemp("field")
    for seed in (2, 3, 4):
        healthy_stream(12_000, seed=seed).save(folder / f"{seed}.npz")
    pack(sorted(folder.glob("*.npz")), folder / "field.parquet", profile=health_profile())
    return folder / "field.parquet"


def test_unchanged_streams_give_nearly_the_same_profile(field: Path) -> None:
    """Without drift the new profile has no objections, and its provenance has its origin."""
    old = health_profile()
    result = recalibrate(old, [field], threads=2)
    assert result.objections == ()
    assert list(result.beyond) == ["risk", "novelty", "divergence", "instability", "health"]
    new = result.profile
    assert new.threshold.anchor == pytest.approx(old.threshold.anchor, rel=0.1)
    assert (new.inputs, new.signals, new.budget) == (old.inputs, old.signals, old.budget)
    assert new.provenance.figures["recalibration.streams"] == 3
    assert f"fitted as profile {old.sha256[:8]}" in new.provenance.findings[0].sentence
    share = result.comparison.shares("recalibrated")["exceeded_share"]
    assert share == pytest.approx(0.1, abs=0.01)


def test_bets_stay_and_edges_are_the_fields(field: Path) -> None:
    """Every channel keeps its block, gains and counts; at most 10 %, 2 %, 0 of blocks pass edges.

    Blocks whose means agree in the device's units are tied, so that shares may be a little lower.
    """
    old = health_profile()
    new = recalibrate(old, [field], threads=2).profile
    assert old.alarm is not None
    assert new.alarm is not None
    streams = [healthy_stream(12_000, seed=seed) for seed in (2, 3, 4)]
    for before, after in zip(old.alarm.channels, new.alarm.channels, strict=True):
        assert replace(after, centre=before.centre, edges=before.edges) == before
        assert after.edges != before.edges
        means = np.concatenate([channel_means(new, after, stream) for stream in streams])
        passed = edges_passed(means - 1e-9, after.edges, after.centre)  # at an edge is not above
        for edge, share in enumerate((0.1, 0.02, 0.0)):
            assert 0.95 * share <= (passed > edge).mean() <= share, (after.signal, edge)


def channel_means(profile: tcuq.Profile, channel: Channel, stream: tcuq.Stream) -> Floats:
    """Return the block means of a channel over a stream, gaps and all."""
    parts = observe(stream, profile.inputs, profile.signals)
    odds = risk_odds(risk_levels(parts, profile.inputs, profile.signals, profile.score))
    return block_means(channel_input(concatenate(parts), odds, channel.signal)[1], channel.block)


def test_an_archive_without_health_keeps_its_edges(tmp_path: Path) -> None:
    """The channel of input health stays as it was fitted; all others are refitted."""
    old = health_profile()
    for seed in (2, 3):
        without_health(healthy_stream(12_000, seed=seed)).save(tmp_path / f"{seed}.npz")
    pack(sorted(tmp_path.glob("*.npz")), tmp_path / "a.parquet", profile=old)
    new = recalibrate(old, [tmp_path / "a.parquet"], threads=2).profile
    assert old.alarm is not None
    assert new.alarm is not None
    pairs = zip(old.alarm.channels, new.alarm.channels, strict=True)
    unchanged = [before.signal for before, after in pairs if before == after]
    assert unchanged == ["health"]


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
    alarmed = facts["present"]["alarmed"]
    assert figures["recalibration.streams_left_out"] == alarmed > 0
    assert figures["recalibration.streams"] == facts["present"]["streams"] - alarmed > 0
    assert any("the fleet drifts as a whole" in objection for objection in result.objections)


def test_a_drifting_fleet_cannot_calibrate_its_drift_away(
    tmp_path: Path, synthetic: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """If every stream drifts too little to alarm, nothing is written until a person accepts."""
    calibration = synthetic(steps=20_000, width=4, seed=1, starts=[10_000])
    with pytest.warns(CalibrationWarning, match="supports about one in 4,194,304"):
        profile = tcuq.fit(calibration, alarm=tcuq.AlarmOptions(1 << 24))
    profile.save(tmp_path / "old.json")
    (tmp_path / "fleet").mkdir()
    for device in range(90):
        part = calibration[200 * device : 200 * device + 400]
        blurred = 0.96 * np.asarray(part.posteriors) + 0.04 / part.classes
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
