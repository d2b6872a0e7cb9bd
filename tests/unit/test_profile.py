# SPDX-License-Identifier: Apache-2.0
"""Profiles: files decide the same, damaged ones are refused, numbers are the C header's."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

import tcuq
import tcuq.runtime
from tcuq import stream
from tcuq._outputs import MAX_OUTPUTS
from tcuq.demo import demo_stream
from tcuq.errors import ProfileError
from tcuq.profile import MAX_FILE_BYTES, quantize, settings, signal_units
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome

Altered = Callable[..., dict[str, Any]]
BIG = 10**12 + 1
# Path, new value (`...` removes it), and the expected message. The hash is recomputed.
DAMAGED: list[tuple[str, object, str]] = [
    ("format", "tcuq.profile/4", "format must be tcuq.profile/6, got tcuq.profile/4, of another"),
    ("format", "csv", "format must be 'tcuq.profile/6', got 'csv'"),
    ("checksum", "0" * 64, "(edited by hand? fit again, or save through tcuq)"),
    ("checksum", ..., "checksum is missing"),
    ("sha256", "0" * 64, "for this content, got 0000"),
    ("threshold.anchor", 5, "sha256 must be "),
    ("sha256", "short", "sha256 must match ^[0-9a-f]{64}$, got 'short'"),
    ("sha256", ..., "sha256 is missing"),
    ("inputs", ..., "inputs is missing"),
    ("inputs.kind", "votes", "inputs.kind must be one of probabilities, logits, outputs"),
    ("inputs.classes", 1, "inputs.classes must be at least 2"),
    ("inputs.classes", 7.0, "inputs.classes must be of type integer, got 7.0"),
    ("inputs.classes", True, "inputs.classes must be of type integer, got True"),
    ("inputs.width", 33, "inputs.projection must be given exactly when inputs.width exceeds 32"),
    ("inputs.width", 24, "inputs.selection must ascend below inputs.width, 24"),
    ("inputs.width", 0, "inputs.feature_scale must be null exactly when"),
    ("inputs.projection", {"kind": "pca"}, "inputs.projection.mean is missing"),
    ("signals.lags", [4, 2, 1], "signals.lags must ascend, got [4, 2, 1]"),
    ("signals.lags", [1, 1], "signals.lags must ascend, got [1, 1]"),
    ("signals.lags", [], "signals.lags must have 1 to 8 items, got 0"),
    ("signals.lags.0", 256, "signals.lags[0] must lie in 1..255, got 256"),
    ("signals.blend", 1.5, "signals.blend must lie in 0..1, got 1.5"),
    ("signals.novelty.means.3", [0.0], "signals.novelty.means must be 24 wide, as the features"),
    ("signals.novelty.whitening.3", [0.0] * 23, "signals.novelty.whitening must be 24 wide"),
    ("signals.novelty.means.2.1", "x", "signals.novelty.means[2][1] must be of type number"),
    ("signals.novelty", None, "score.terms[3].signal must be one of divergence, instability"),
    ("score.kind", "best", "score.kind must be one of tcuq, anchored, got 'best'"),
    ("score.terms", [], "score.terms must have 1 to 8 items, got 0"),
    ("score.terms.0.signal", "luck", "score.terms[0].signal must be one of divergence"),
    ("score.terms.0.weight", -1, "score.terms[0].weight must lie in 0..64, got -1"),
    ("score.terms.0.points", [0.0], "score.terms[0].bits must be as many as points, 1, got"),
    ("score.terms.0.points.5", 1e8, "score.terms[0].points must ascend strictly"),
    ("score.terms.3.bits.5", 64, "score.terms[3].bits must not descend"),
    ("novelty.0.share", 0.5, "novelty's shares must add up to 1, got 0.75"),
    ("novelty.1.signal", "novelty", "novelty must each have a signal of their own, got novelty"),
    ("novelty.0.signal", "doubt", "novelty[0].signal must be one of low_confidence, depar"),
    ("novelty.0.points", [0.0], "novelty[0].bits must be as many as points, 1, got"),
    ("score.terms.0.slope", 10**400, "score.terms[0].slope must lie in"),
    ("threshold.alpha_q16", 65536, "threshold.alpha_q16 must lie in 1..65535, got 65536"),
    ("threshold.anchor", -1, "threshold.anchor must lie in 0..16384, got -1"),
    ("threshold.mode", None, "threshold.mode must be one of guarded, adaptive, got None"),
    ("budget.burst_q16", 2**31, "budget.burst_q16 must lie in 0..2147483647, got 2147483648"),
    ("budget", [], "budget must be of type object, got list"),
    ("alarm.steps_per_false_alarm", 7, "alarm.steps_per_false_alarm must lie in 256.."),
    ("alarm.channels.0.block", 48, "alarm.channels[0].block must be a power of two, got 48"),
    ("alarm.channels.0.signal", "novelty", "alarm.channels must each have a signal of their own"),
    ("alarm.channels.1.edges", [2, 1, 3], "alarm.channels[1].edges must not descend, got [2, 1,"),
    ("alarm.channels.1.gains_q8", [3, 2, 1, 0], "alarm.channels[1].gains_q8 must not descend"),
    ("alarm.channels.1.gains_q8", [1, 2], "alarm.channels[1].gains_q8 must have 4 to 4 items"),
    ("provenance.preset", "mine", "provenance.preset must be one of paper, recommended, got"),
    ("provenance.calibration.steps", BIG, "provenance.calibration.steps must lie in 1.."),
    ("provenance.seed", -1, "provenance.seed must lie in 0..4294967295, got -1"),
    ("provenance.figures", {"x": None}, "provenance.figures.'x' must be of type number, got None"),
    ("provenance.findings", [1], "provenance.findings[0] must be of type object, got 1"),
    ("surprise", 1, "'surprise' is not a known member"),
]  # fmt: skip
HEADER = Path(tcuq.runtime.__file__).with_name("tcuq.h").read_text("utf-8")
MACROS = {name: int(value) for name, value in re.findall(r"#define TCUQ_(\w+) (\d+)u\b", HEADER)}


def refusal(path: Path, content: bytes) -> str:
    """The message a file of this content is refused with: one line that names it."""
    path.write_bytes(content)
    with pytest.raises(ProfileError) as caught:
        tcuq.Profile.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 400
    return message


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize("preset", ["recommended", "paper"])
def test_saved_profile_decides_the_same(tmp_path: Path, preset: Any) -> None:
    """A profile comes back equal, and its decisions are the same bit for bit."""
    calibration, development = demo_stream("calibration"), demo_stream("development")
    first = tcuq.fit(calibration, development, preset=preset)
    first.save(tmp_path / "p.json")
    second = tcuq.Profile.load(tmp_path / "p.json")
    assert second == first
    assert second.sha256 == first.sha256
    faulty = demo_stream("fault_clipping")
    traces = [tcuq.Monitor(p).run(faulty.posteriors, faulty.features) for p in (first, second)]
    for name in tcuq.Trace.__slots__:
        assert getattr(traces[0], name).tobytes() == getattr(traces[1], name).tobytes()


def test_file_names_its_format_and_hash(profile: tcuq.Profile) -> None:
    """The document has its format and hash; the hash does not depend on its formatting."""
    document = json.loads(profile.to_json())
    assert (document["format"], document["sha256"]) == ("tcuq.profile/6", profile.sha256)
    tight = json.dumps(dict(reversed(document.items())), separators=(",", ":"))
    assert tcuq.Profile.from_json(tight) == profile
    assert tcuq.Profile.from_json(tight.encode("utf-16")) == profile


def test_damaged_profiles_are_refused(
    tmp_path: Path, profile: tcuq.Profile, altered: Altered, subtests: pytest.Subtests
) -> None:
    """One changed member is refused even where the hash fits, in one line with place and rule."""
    for place, value, rule in DAMAGED:
        with subtests.test(place=place, value=value):
            content = json.dumps(altered(profile, place, value)).encode()
            assert rule in refusal(tmp_path / "p.json", content)


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
def test_members_must_agree(
    synthetic: Callable[..., tcuq.Stream], altered: Altered, subtests: pytest.Subtests
) -> None:
    """Projection, weights and features must be consistent."""
    streams = synthetic(300, width=40), synthetic(300, width=40, seed=1)
    wide = tcuq.fit(*streams, preset="paper", paper=tcuq.PaperOptions(signs="monotone"))
    changes: list[tuple[str, object, str]] = [
        ("score.weights.instability", None, "must be null exactly when inputs.width is 0"),
        ("score.weights.doubt", -0.5, "must not be negative when signs is monotone, got -0.5"),
        ("inputs.projection", None, "inputs.projection must be given exactly when inputs.width"),
        ("inputs.projection.mean", [0.0] * 39, "inputs.projection.mean must be 40 wide"),
        ("inputs.projection.matrix.0", [0.0] * 41, "inputs.projection.matrix must be 40 wide"),
        ("inputs.projection.matrix", [[0.0] * 40], "signals.novelty.whitening must have 1 rows"),
    ]
    for place, value, rule in changes:
        with subtests.test(place=place), pytest.raises(ProfileError, match=rule):
            tcuq.Profile.from_json(json.dumps(altered(wide, place, value)))


def test_other_content_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A file that is no profile is refused in one line."""
    others = [
        (b"", "not a JSON document"),
        (b"{", "not a JSON document"),
        (b"profile: 1", "not a JSON document"),
        (b"\x00\xff\xfe" * 99, "not a JSON document"),
        (b"\x89PNG\r\n\x1a\n", "not a JSON document"),
        (b"[" * 10**6, "not a JSON document"),
        (b'{"a":' * 10**6, "not a JSON document"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "not a JSON document"),
        (b"null", "the document must be of type object, got None"),
        (b"[]", "the document must be of type object, got list"),
        (b'{"format": 1, "format": 2}', "member 'format' is repeated"),
        (b'{"a": {"x\\ny": 1, "x\\ny": 2}}', "member 'x\\ny' is repeated"),
        (b'{"a": NaN}', "numbers must be finite, got NaN"),
        (b'{"a": [-Infinity]}', "numbers must be finite, got -Infinity"),
        (b"{}", "format is missing"),
    ]
    for content, rule in others:
        with subtests.test(content=content[:24]):
            assert rule in refusal(tmp_path / "p.json", content)


def test_numbers_beyond_floats_are_refused(tmp_path: Path, profile: tcuq.Profile) -> None:
    """1e999 reads as infinity, and infinity lies in no range."""
    blend = f'"blend": {profile.signals.blend}'
    content = profile.to_json().replace(blend, '"blend": 1e999').encode()
    assert "signals.blend must lie in 0..1, got inf" in refusal(tmp_path / "p.json", content)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    """A file beyond the bound is not parsed; a missing path is refused with the reason."""
    assert "at most 67,108,864 bytes" in refusal(tmp_path / "p", b" " * (MAX_FILE_BYTES + 1))
    for path, rule in ((tmp_path / "none.json", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ProfileError, match=rule):
            tcuq.Profile.load(path)


def enumerated(name: str) -> dict[str, int]:
    """Return the members of one of the header's enums."""
    body = re.search(r"typedef enum \{([^}]*)\} tcuq_" + name, HEADER)
    assert body is not None
    return {key: int(value) for key, value in re.findall(r"TCUQ_(\w+) = (\d+)", body[1])}


def test_numbers_and_limits_are_the_headers() -> None:
    """Flags, outcomes, signals and limits have the same numbers in Python and on the device."""
    flags = {n.removeprefix("ALARM_"): v for n, v in MACROS.items() if n.startswith("ALARM_")}
    assert flags == {flag.name: flag.value for flag in AlarmFlag}
    assert enumerated("outcome") == {outcome.name: outcome.value for outcome in Outcome}
    signals = {name.upper(): index for index, name in enumerate(signal_units.CHANNEL_SIGNALS)}
    assert enumerated("signal") == signals
    assert {
        "MAX_CLASSES": stream.MAX_CLASSES,
        "MAX_OUTPUTS": MAX_OUTPUTS,
        "MAX_DIMENSIONS": settings.MAX_DIMENSIONS,
        "SIGNALS": len(signal_units.SIGNALS),
        "MAX_BLOCK": settings.MAX_BLOCK,
        "BOOT_STEPS": settings.BOOT_STEPS,
        "MAX_CHANNELS": len(get_args(settings.ChannelSignal)),
        "MAX_STEP": quantize.MAX_LEDGER_STEP,
        "RISK_LEVELS": settings.RISK_LEVELS,
        "TOKEN": settings.TOKEN,
    }.items() <= MACROS.items()
