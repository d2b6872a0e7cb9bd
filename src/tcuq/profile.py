# SPDX-License-Identifier: Apache-2.0
"""The profile: every number a monitor needs, calibrated once, frozen, versioned and hashed.

Format `tcuq.profile/2` is profile.schema.json beside this file; what one member owes another is
checked here.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from tcuq.atomic import written_whole
from tcuq.errors import ProfileError
from tcuq.schema import violation
from tcuq.settings import (
    MAX_DIMENSIONS,
    NEEDS_FEATURES,
    AlarmSettings,
    AnchoredScoreSettings,
    BudgetSettings,
    Channel,
    CombinerWeights,
    InputSettings,
    NoveltySettings,
    Projection,
    Provenance,
    Recorded,
    ScoreSettings,
    Signal,
    SignalSettings,
    TcuqScoreSettings,
    Term,
    ThresholdSettings,
)

FORMAT = "tcuq.profile/2"
MAX_FILE_BYTES = 64 << 20

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Profile:
    """A calibrated monitor, ready to run, save, load and export.

    Made by ``tcuq.fit`` or ``Profile.load``; its members are read, not set.

    Examples
    --------
    >>> from tcuq.demo import demo_profile
    >>> profile = demo_profile()
    >>> profile == Profile.from_json(profile.to_json())
    True
    """

    inputs: InputSettings
    signals: SignalSettings
    score: ScoreSettings
    threshold: ThresholdSettings
    budget: BudgetSettings
    alarm: AlarmSettings | None
    provenance: Provenance

    @property
    def sha256(self) -> str:
        """Hash of the canonical content; its first 8 digits name the profile on the wire."""
        return _hash(_plain(self))

    @property
    def present_signals(self) -> tuple[Signal, ...]:
        """The signals this profile's inputs can give."""
        absent = set(NEEDS_FEATURES) if self.inputs.width == 0 else set()
        if self.signals.novelty is None:
            absent.add("novelty")
        return tuple(s for s in get_args(Signal) if s not in absent)

    def to_json(self) -> str:
        """The profile as a JSON document that carries its own hash."""
        content = _plain(self)
        return json.dumps({"format": FORMAT, "sha256": _hash(content), **content}, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Profile":
        """Read a profile from a JSON document, checking all of it."""
        if len(text) > MAX_FILE_BYTES:
            raise ProfileError(f"a profile has at most {MAX_FILE_BYTES:,} bytes")
        document = _parse(text)
        found = violation(document, profile_schema())
        if found:
            raise ProfileError(found)
        content = {k: v for k, v in document.items() if k not in ("format", "sha256")}
        if _hash(content) != document["sha256"]:
            raise ProfileError(
                f"sha256 must be {_hash(content)} for this content, got {document['sha256']}"
                " (edited by hand? fit again, or save through tcuq)"
            )
        profile = _build(content)
        for message in _inconsistencies(profile):
            raise ProfileError(message)
        return profile

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile; the file appears whole or not at all."""
        with written_whole(path) as file:
            file.write(self.to_json().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Profile":
        """Read a profile from a file, checking all of it."""
        try:
            with Path(path).open("rb") as file:
                return cls.from_json(file.read(MAX_FILE_BYTES + 1))
        except ProfileError as error:
            raise ProfileError(f"{path}: {error}") from None
        except OSError as error:
            raise ProfileError(f"{path}: {error.strerror}") from error
        except ValueError as error:  # a path that cannot be one
            raise ProfileError(f"{str(path)!r}: {error}") from None


@cache
def profile_schema() -> Mapping[str, Any]:
    """The JSON Schema of `tcuq.profile/2`, as shipped."""
    text = resources.files("tcuq").joinpath("profile.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return MappingProxyType(schema)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Dataclasses to JSON values."""
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _hash(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _parse(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON value
    def refuse_constant(name: str) -> None:
        raise ProfileError(f"numbers must be finite, got {name}")

    def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for name, value in pairs:
            if name in members:
                raise ProfileError(f"member {name[:60]!r} is repeated")
            members[name] = value
        return members

    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_repeats)
    except ProfileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"not a JSON document: {str(error)[:200]}") from None


def _frozen(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _record(kind: type[T], content: Mapping[str, Any], **built: object) -> T:
    """A settings record from its checked JSON object; nested records are built by the caller."""
    return kind(**{**{name: _frozen(member) for name, member in content.items()}, **built})


def _optional(kind: type[T], content: Mapping[str, Any] | None) -> T | None:
    return None if content is None else _record(kind, content)


def _build(content: Mapping[str, Any]) -> Profile:
    inputs, signals, score = content["inputs"], content["signals"], content["score"]
    alarm, made = content["alarm"], content["provenance"]
    return Profile(
        inputs=_record(
            InputSettings, inputs, projection=_optional(Projection, inputs["projection"])
        ),
        signals=_record(
            SignalSettings, signals, novelty=_optional(NoveltySettings, signals["novelty"])
        ),
        score=(
            _record(TcuqScoreSettings, score, weights=_record(CombinerWeights, score["weights"]))
            if score["kind"] == "tcuq"
            else _record(
                AnchoredScoreSettings,
                score,
                terms=tuple(_record(Term, term) for term in score["terms"]),
            )
        ),
        threshold=_record(ThresholdSettings, content["threshold"]),
        budget=_record(BudgetSettings, content["budget"]),
        alarm=None
        if alarm is None
        else AlarmSettings(alarm["h"], tuple(_record(Channel, c) for c in alarm["channels"])),
        provenance=_record(
            Provenance,
            made,
            calibration=_record(Recorded, made["calibration"]),
            development=_optional(Recorded, made["development"]),
            figures=MappingProxyType(dict(made["figures"])),
        ),
    )


def _inconsistencies(profile: Profile) -> Iterator[str]:
    """What single members cannot say: how they must agree."""
    yield from _input_inconsistencies(profile)
    lags = profile.signals.lags
    if list(lags) != sorted(set(lags)):
        yield f"signals.lags must ascend, got {list(lags)}"
    present = profile.present_signals
    match profile.score:
        case TcuqScoreSettings(signs=signs, weights=weights):
            if (weights.instability is None) != (profile.inputs.width == 0):
                yield "score.weights.instability must be null exactly when inputs.width is 0"
            lowest = min(v for v in _plain(weights).values() if v is not None)
            if signs == "monotone" and lowest < 0:
                yield f"score.weights must not be negative when signs is monotone, got {lowest}"
        case AnchoredScoreSettings(terms=terms):
            for index, term in enumerate(terms):
                yield from _term_inconsistencies(f"score.terms[{index}]", term, present)
    if profile.alarm is not None:
        yield from _alarm_inconsistencies(profile.alarm, present)


def _input_inconsistencies(profile: Profile) -> Iterator[str]:
    inputs, novelty = profile.inputs, profile.signals.novelty
    projection = inputs.projection
    if (inputs.feature_scale is None) != (inputs.width == 0):
        yield "inputs.feature_scale must be null exactly when inputs.width is 0"
    if (projection is not None) != (inputs.width > MAX_DIMENSIONS):
        yield (
            f"inputs.projection must be given exactly when inputs.width exceeds {MAX_DIMENSIONS},"
            f" got width {inputs.width}"
        )
    if projection is not None:
        for name, rows in (("mean", (projection.mean,)), ("matrix", projection.matrix)):
            if any(len(row) != inputs.width for row in rows):
                yield f"inputs.projection.{name} must be {inputs.width} wide, as inputs.width"
    if novelty is not None:
        size = inputs.dimensions
        if len(novelty.whitening) != size:
            yield f"signals.novelty.whitening must have {size} rows, got {len(novelty.whitening)}"
        for name, rows in (("means", novelty.means), ("whitening", novelty.whitening)):
            if any(len(row) != size for row in rows):
                yield f"signals.novelty.{name} must be {size} wide, as the features"


def _term_inconsistencies(place: str, term: Term, present: tuple[Signal, ...]) -> Iterator[str]:
    if term.signal not in present:
        yield f"{place}.signal must be one of {', '.join(present)}, got {term.signal!r}"
    if len(term.points) != len(term.bits):
        yield f"{place}.bits must be as many as points, {len(term.points)}, got {len(term.bits)}"
    if any(a >= b for a, b in zip(term.points, term.points[1:], strict=False)):
        yield f"{place}.points must ascend strictly"
    if any(a > b for a, b in zip(term.bits, term.bits[1:], strict=False)):
        yield f"{place}.bits must not descend"


def _alarm_inconsistencies(alarm: AlarmSettings, present: tuple[Signal, ...]) -> Iterator[str]:
    names = [channel.signal for channel in alarm.channels]
    if len(set(names)) < len(names):
        yield f"alarm.channels must each have a signal of their own, got {', '.join(names)}"
    for index, channel in enumerate(alarm.channels):
        place = f"alarm.channels[{index}]"
        if channel.signal not in present:
            yield f"{place}.signal must be one of {', '.join(present)}, got {channel.signal!r}"
        if channel.block & (channel.block - 1):
            yield f"{place}.block must be a power of two, got {channel.block}"
        if list(channel.edges) != sorted(channel.edges):
            yield f"{place}.edges must not descend, got {list(channel.edges)}"
        if list(channel.gains_q8) != sorted(channel.gains_q8):
            yield f"{place}.gains_q8 must not descend, got {list(channel.gains_q8)}"
