# SPDX-License-Identifier: Apache-2.0
"""The options of a fit, in groups, and the two presets: `paper` and `recommended`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from tcuq.errors import InputError
from tcuq.profile.quantize import MAX_LEDGER_STEP
from tcuq.profile.settings import (
    MAX_DIMENSIONS,
    MAX_STEPS_PER_FALSE_ALARM,
    MAX_TERM_WEIGHT,
    RISK_LEVELS,
    Signal,
)

Preset = Literal["paper", "recommended"]
LEDGER_STEPS = (1 / RISK_LEVELS, MAX_LEDGER_STEP / RISK_LEVELS)
SCALES = {"low_confidence": ("surprise", "odds"), "contradiction": ("odds",)}


def _check_lags(lags: tuple[int, ...]) -> None:
    if not 1 <= len(lags) <= 8:
        raise InputError(f"lags must be 1 to 8, got {len(lags)}")
    for lag in lags:
        _check_integer("lags", lag, 1, 255)
    if list(lags) != sorted(set(lags)):
        raise InputError(f"lags must ascend, got {lags}")


def _check_type(name: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{name} must be of type {kind.__name__}, got {value!r}")


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if isinstance(value, bool) or value not in choices:
        listed = ", ".join(map(str, choices))
        raise InputError(f"{name} must be one of {listed}, got {value!r}")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and low <= value <= high):
        raise InputError(f"{name} must lie in {low:g}..{high:g}, got {value!r}")


def _check_integer(name: str, value: int, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{name} must be a whole number in {low}..{high}, got {value!r}")


def _make_plain(options: object) -> None:
    """Replace NumPy's scalars in a frozen dataclass by Python's."""
    for name in type(options).__slots__:  # type: ignore[attr-defined]
        object.__setattr__(options, name, _plain(getattr(options, name)))


def _plain(value: Any) -> Any:  # noqa: ANN401 - checked by the option's class
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """The paper's score and threshold; the defaults are the paper's own.

    Parameters
    ----------
    score
        "tcuq", the paper's, which needs a development stream, or "anchored", the library's.
    signs
        Signs of the tcuq weights: "free" as the paper fits them, "monotone" as it describes.
    mix
        In the tcuq score: risk = mix · combination + (1 - mix) · (1 - confidence).
    blend
        In the signal doubt: blend · (1 - confidence) + (1 - blend) · (1 - margin).
    mode
        "adaptive": the threshold follows the stream; "guarded": never above the calibrated one.
    warmup
        First steps in which an adaptive threshold is guarded.
    ledger_step
        Largest change of the threshold: it moves by ledger_step · (exceeded - alpha) per step.

    Examples
    --------
    >>> PaperOptions(signs="monotone").mix
    0.7
    """

    score: Literal["tcuq", "anchored"] = "tcuq"
    signs: Literal["free", "monotone"] = "free"
    mix: float = 0.7
    blend: float = 0.5
    mode: Literal["adaptive", "guarded"] = "adaptive"
    warmup: int = 4 * 16  # W = 16 in the paper; its warm-up is "multiples of W"
    ledger_step: float = 1 / 128

    def __post_init__(self) -> None:
        _make_plain(self)
        _check_choice("score", self.score, ("anchored", "tcuq"))
        _check_choice("signs", self.signs, ("free", "monotone"))
        _check_choice("mode", self.mode, ("guarded", "adaptive"))
        _check_range("mix", self.mix, 0, 1)
        _check_range("blend", self.blend, 0, 1)
        _check_range("ledger_step", self.ledger_step, *LEDGER_STEPS)
        _check_integer("warmup", self.warmup, 0, 2**31 - 1)


@dataclass(frozen=True, slots=True)
class AlarmOptions:
    """The alarm: how rare false alarms are, and what the device reports to a fleet.

    Parameters
    ----------
    steps_per_false_alarm
        Least mean number of steps between false alarms, at most 2^24.
    epoch_steps
        Steps per epoch, after which a device reports its evidence to the fleet; best a day's.
    block_factor
        Factor of the block lengths, 1, 2 or 4: more where blocks still depend on each other.

    Examples
    --------
    >>> AlarmOptions(steps_per_false_alarm=1 << 17, epoch_steps=24 * 3600).block_factor
    1
    """

    steps_per_false_alarm: int = 1 << 20
    epoch_steps: int = 1 << 16
    block_factor: Literal[1, 2, 4] = 1

    def __post_init__(self) -> None:
        _make_plain(self)
        _check_integer(
            "steps_per_false_alarm", self.steps_per_false_alarm, 256, MAX_STEPS_PER_FALSE_ALARM
        )
        _check_integer("epoch_steps", self.epoch_steps, 256, 2**31 - 1)
        _check_choice("block_factor", self.block_factor, (1, 2, 4))


@dataclass(frozen=True, slots=True)
class PromiseOptions:
    """A promise on correctness: of the accepted predictions at most this share is wrong.

    It holds until an alarm. The labels of calibration choose a fixed threshold in place of alpha
    and serve nothing else; the fit refuses where they are too few.

    Parameters
    ----------
    accepted_error
        Largest share of wrong predictions among the accepted ones.
    confidence
        Probability with which the promise holds.
    independent_unit
        What counts as independent: "recordings", so that it holds for new people and devices, or
        "steps", thinned by their autocorrelation; None: recordings if there are several.

    Examples
    --------
    >>> PromiseOptions(0.05).confidence
    0.95
    """

    accepted_error: float
    confidence: float = 0.95
    independent_unit: Literal["recordings", "steps"] | None = None

    def __post_init__(self) -> None:
        _make_plain(self)
        _check_range("accepted_error", self.accepted_error, 1e-4, 0.5)
        _check_range("confidence", self.confidence, 0.6, 0.9999)
        if self.independent_unit is not None:
            _check_choice("independent_unit", self.independent_unit, ("recordings", "steps"))


@dataclass(frozen=True, slots=True)
class TermPlan:
    """A term of the anchored score before calibration fills its table.

    Parameters
    ----------
    signal
        The signal that the term reads.
    scale
        "surprise" in bits, or "odds": of low_confidence, the log-odds of an error by the
        classifier's own probabilities, so that risk is 1 - confidence where nothing surprises; of
        contradiction, the log-odds of the past against the label.
    ewma
        Smoothing of the bits by 2^-ewma per step, or None.
    dead, cap
        The term is clip(bits - dead, 0, cap). Of smoothed odds, dead counts from their mean on
        calibration.
    weight, error_weight
        Its weights in the risk and in the expected error.
    """

    signal: Signal
    scale: Literal["surprise", "odds"] = "surprise"
    ewma: int | None = None
    dead: float = 0.0
    cap: float = 16.0
    weight: float = 1.0
    error_weight: float = 0.0

    def __post_init__(self) -> None:
        _check_choice("a term's signal", self.signal, get_args(Signal))
        _check_choice("a term's scale", self.scale, ("surprise", "odds"))
        allowed = SCALES.get(self.signal, ("surprise",))
        if self.scale not in allowed:
            raise InputError(
                f"a term's scale must be {' or '.join(allowed)} for {self.signal}, got {self.scale}"
            )
        if self.ewma is not None:
            _check_integer("a term's ewma", self.ewma, 1, 10)
        _check_range("a term's dead", self.dead, 0, 16)
        _check_range("a term's cap", self.cap, 0, 16)
        _check_range("a term's weight", self.weight, 0, MAX_TERM_WEIGHT)
        _check_range("a term's error_weight", self.error_weight, 0, MAX_TERM_WEIGHT)


PAPER_LAGS = (1, 2, 4)  # the score "tcuq" reads the past alone, and needs more of it

# The classifier's doubt; the past against the label, now and lately; unusual features: a little of
# each step, much of a very unusual one, and lately. Chosen on development data,
# docs/decisions/0073. Without classes, unusual outputs and unusual features.
TERMS = (
    TermPlan("low_confidence", scale="odds", error_weight=1.0),
    TermPlan("contradiction", scale="odds", weight=0.75, error_weight=0.5),
    TermPlan("contradiction", scale="odds", ewma=4, dead=0.25, cap=2.0, error_weight=1.0),
    TermPlan("novelty", weight=6 / 256, error_weight=13 / 256),
    TermPlan("novelty", dead=8.0, cap=8.0, weight=0.0, error_weight=1.0),
    TermPlan("novelty", ewma=5, dead=2.5, cap=3.0, weight=0.25, error_weight=0.5),
    TermPlan("departure", weight=0.25, error_weight=0.25),
)


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Every option of a fit, as `tcuq.fit` describes them; the presets differ in these alone."""

    alpha: float = 0.1
    unusual: float = 0.01
    budget: float = 0.15
    burst: float = 16.0
    denied: Literal["use", "withhold"] = "withhold"
    lags: tuple[int, ...] = (3,)
    dimensions: int = 24
    terms: tuple[TermPlan, ...] = TERMS
    novelty: bool = True
    projection: Literal["pca", "lda"] = "pca"
    seed: int = 0
    paper: PaperOptions = field(
        default_factory=lambda: PaperOptions(score="anchored", mode="guarded", warmup=0)
    )
    alarm: AlarmOptions | None = field(default_factory=AlarmOptions)
    promise: PromiseOptions | None = None

    def __post_init__(self) -> None:
        _check_range("alpha", self.alpha, 2**-16, 1 - 2**-16)
        _check_range("unusual", self.unusual, 0, 0.99)
        _check_choice("denied", self.denied, ("use", "withhold"))
        _check_range("budget", self.budget, 0, 1)
        _check_range("burst", self.burst, 1, 32_767)
        _check_integer("seed", self.seed, 0, 2**32 - 1)
        _check_choice("projection", self.projection, ("pca", "lda"))
        if not isinstance(self.novelty, bool):
            raise InputError(f"novelty must be True or False, got {self.novelty!r}")
        _check_lags(self.lags)
        _check_integer("dimensions", self.dimensions, 1, MAX_DIMENSIONS)
        if not 1 <= len(self.terms) <= 8:
            raise InputError(f"terms must be 1 to 8, got {len(self.terms)}")
        for term in self.terms:
            _check_type("terms", term, TermPlan)
        _check_type("paper", self.paper, PaperOptions)
        if self.alarm is not None:
            _check_type("alarm", self.alarm, AlarmOptions)
        if self.promise is not None:
            _check_type("promise", self.promise, PromiseOptions)
            self._check_promise()

    def _check_promise(self) -> None:
        if self.paper.mode != "guarded":
            raise InputError(
                f'a promise needs a fixed threshold, mode="guarded", got {self.paper.mode!r}'
            )
        if self.projection != "pca":
            raise InputError(
                'a promise needs projection="pca": labels that fit a projection cannot choose the'
                f" threshold too, got {self.projection!r}"
            )
        if self.alarm is None:
            raise InputError("a promise holds until an alarm, and needs alarm=True")
        if self.denied != "withhold":
            raise InputError(
                'a promise covers accepted predictions alone, and needs denied="withhold"'
            )
        if self.unusual != 0:
            raise InputError(
                f"a promise has one threshold, and needs unusual=0, got {self.unusual}"
            )


PRESETS: Mapping[str, FitOptions] = MappingProxyType(
    {
        "paper": FitOptions(
            paper=PaperOptions(),
            lags=PAPER_LAGS,
            dimensions=MAX_DIMENSIONS,
            novelty=False,
            unusual=0.0,
            denied="use",
            alarm=None,
        ),
        "recommended": FitOptions(),
    }
)
GROUPS: Mapping[str, type] = MappingProxyType(
    {"paper": PaperOptions, "alarm": AlarmOptions, "promise": PromiseOptions}
)


def options_from(preset: str, changes: Mapping[str, Any]) -> FitOptions:
    """Return the preset's options, replaced by those changes that are not None."""
    if preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    changed = {name: value for name, value in changes.items() if value is not None}
    if "alpha" in changed and "promise" in changed:
        raise InputError(
            "alpha and a promise both choose the threshold: give one of them, got"
            f" alpha={changed['alpha']!r} and {changed['promise']!r}"
        )
    if changed.get("promise") is not None:
        changed = {"unusual": 0.0, **changed}
    if isinstance(changed.get("paper"), PaperOptions) and changed["paper"].score == "tcuq":
        changed = {"lags": PAPER_LAGS, "dimensions": MAX_DIMENSIONS, **changed}
    if isinstance(changed.get("alarm"), bool):
        changed["alarm"] = AlarmOptions() if changed["alarm"] else None
    for name in {"lags", "terms"} & set(changed):
        values = changed[name]
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"{name} must be a list, got {values!r}")
        changed[name] = tuple(_plain(value) for value in values)
    return replace(PRESETS[preset], **{name: _plain(value) for name, value in changed.items()})


def grouped(preset: str, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return keywords of `fit` from single options, such as those of a command line.

    Options of a group that are not given are the preset's; None is not given.

    Examples
    --------
    >>> grouped("recommended", {"alpha": 0.2, "mix": None, "epoch_steps": 4096})["alarm"]
    AlarmOptions(steps_per_false_alarm=1048576, epoch_steps=4096, block_factor=1)
    """
    given = {name: value for name, value in flat.items() if value is not None}
    keywords: dict[str, Any] = {}
    for group, kind in GROUPS.items():
        names = {one.name for one in fields(kind)} & set(given)
        members = {name: given.pop(name) for name in sorted(names)}
        if not members:
            continue
        if group == "promise" and "accepted_error" not in members:
            raise InputError(f"{min(members)} needs accepted_error, got {members} alone")
        if given.get(group) is False:
            raise InputError(f"{min(members)} needs {group}=True, got False")
        given.pop(group, None)
        start = getattr(PRESETS[preset], group)
        keywords[group] = kind(**members) if start is None else replace(start, **members)
    return {**given, **keywords}
