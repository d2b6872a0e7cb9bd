# SPDX-License-Identifier: Apache-2.0
"""The options of a fit and the two presets: `paper` and `recommended`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from tcuq.errors import InputError
from tcuq.profile.quantize import MAX_LEDGER_STEP
from tcuq.profile.settings import (
    MAX_STEPS_PER_FALSE_ALARM,
    MAX_TERM_WEIGHT,
    RISK_LEVELS,
    Signal,
)

Preset = Literal["paper", "recommended"]


@dataclass(frozen=True, slots=True)
class TermPlan:
    """A term of the anchored score before calibration fills its table.

    Parameters
    ----------
    signal
        The signal that the term reads.
    tail
        "upper" if large values are surprising, "lower" if small ones are.
    scale
        "surprise" in bits, or "odds", of low_confidence alone: the log-odds of an error by the
        classifier's own probabilities, so that risk is 1 - confidence where nothing surprises.
    ewma
        Smoothing by 2^-ewma per step, or None.
    dead, cap, weight
        The term is weight · clip(bits - dead, 0, cap).
    """

    signal: Signal
    tail: Literal["upper", "lower"] = "upper"
    scale: Literal["surprise", "odds"] = "surprise"
    ewma: int | None = None
    dead: float = 0.0
    cap: float = 16.0
    weight: float = 1.0


# The classifier's doubt; unusual features, now and smoothed; labels that flip, now and smoothed;
# labels that stopped changing. Chosen on development data, docs/decisions/0018.
TERMS = (
    TermPlan("low_confidence", scale="odds"),
    TermPlan("novelty", dead=2.0, cap=12.0, weight=0.5),
    TermPlan("novelty", ewma=4, dead=6.0, cap=8.0, weight=0.25),
    TermPlan("inconsistency", cap=8.0, weight=0.5),
    TermPlan("inconsistency", ewma=4, dead=3.0, cap=5.0, weight=0.25),
    TermPlan("inconsistency", tail="lower", ewma=5, dead=4.0, cap=4.0, weight=0.5),
)


@dataclass(frozen=True, slots=True)
class Options:
    """Every option of a fit; the presets differ in these values only.

    Parameters
    ----------
    alpha
        Rate of exceedances of the threshold.
    budget, burst
        Abstentions in any n steps are at most burst + budget · n.
    score
        "anchored" (no labels needed) or "tcuq" (the paper's, needs a development stream).
    signs
        Signs of the tcuq weights: "free" as the paper fits them, "monotone" as it describes.
    mix
        In the tcuq score: risk = mix · combination + (1 - mix) · (1 - confidence).
    blend
        In the signal doubt: blend · (1 - confidence) + (1 - blend) · (1 - margin).
    lags
        Steps looked back over.
    terms
        Terms of the anchored score; a development stream's labels set their weights.
    novelty
        Whether a decision carries novelty, a surprise in bits.
    mode, warmup
        "guarded" or "adaptive"; adaptive is guarded for its first `warmup` steps.
    ledger_step
        The adaptive threshold moves by ledger_step · (exceeded - alpha) per step, in risk.
    alarm, steps_per_false_alarm
        Whether to watch for a changed stream, and the mean number of steps between false alarms.
    epoch_steps
        Steps after which the device closes an epoch.
    block_factor
        Multiplies the alarm's block lengths, for streams whose blocks still depend on each other.
    projection
        For features wider than 32: "pca" or "lda".
    seed
        Seed of all randomness in the fit.
    accepted_error, confidence
        Largest share of wrong predictions among the accepted, and the probability that it holds;
        None: not promised.
    independent
        What the labels behind the promise count: "recordings", "steps", or None for recordings
        where there are several.
    """

    alpha: float = 0.1
    budget: float = 0.15
    burst: float = 16.0
    score: Literal["anchored", "tcuq"] = "anchored"
    signs: Literal["free", "monotone"] = "free"
    mix: float = 0.7
    blend: float = 0.5
    lags: tuple[int, ...] = (1, 2, 4)
    terms: tuple[TermPlan, ...] = TERMS
    novelty: bool = True
    mode: Literal["guarded", "adaptive"] = "guarded"
    warmup: int = 0
    ledger_step: float = 1 / 128
    alarm: bool = True
    steps_per_false_alarm: int = 1 << 20
    epoch_steps: int = 1 << 16
    block_factor: int = 1
    projection: Literal["pca", "lda"] = "pca"
    seed: int = 0
    accepted_error: float | None = None
    confidence: float = 0.95
    independent: Literal["recordings", "steps"] | None = None

    def __post_init__(self) -> None:
        _check_range("alpha", self.alpha, 2**-16, 1 - 2**-16)
        _check_range("budget", self.budget, 0, 1)
        _check_range("burst", self.burst, 1, 32_767)
        _check_range("mix", self.mix, 0, 1)
        _check_range("blend", self.blend, 0, 1)
        _check_range("confidence", self.confidence, 0.6, 0.9999)
        if self.accepted_error is not None:
            _check_promise(self)
        _check_integer("warmup", self.warmup, 0, 2**31 - 1)
        _check_range(
            "ledger_step", self.ledger_step, 1 / RISK_LEVELS, MAX_LEDGER_STEP / RISK_LEVELS
        )
        _check_integer("seed", self.seed, 0, 2**32 - 1)
        _check_integer(
            "steps_per_false_alarm", self.steps_per_false_alarm, 256, MAX_STEPS_PER_FALSE_ALARM
        )
        _check_integer("epoch_steps", self.epoch_steps, 256, 2**31 - 1)
        for name, switch in (("alarm", self.alarm), ("novelty", self.novelty)):
            if not isinstance(switch, bool):
                raise InputError(f"{name} must be True or False, got {switch!r}")
        for name, value, choices in (
            ("score", self.score, ("anchored", "tcuq")),
            ("signs", self.signs, ("free", "monotone")),
            ("mode", self.mode, ("guarded", "adaptive")),
            ("projection", self.projection, ("pca", "lda")),
            ("block_factor", self.block_factor, (1, 2, 4)),
        ):
            if value not in choices:
                listed = ", ".join(map(str, choices))
                raise InputError(f"{name} must be one of {listed}, got {value!r}")
        _check_lags(self.lags)
        if not 1 <= len(self.terms) <= 8:
            raise InputError(f"terms must be 1 to 8, got {len(self.terms)}")
        for term in self.terms:
            _check_term(term)


def _check_lags(lags: tuple[int, ...]) -> None:
    if not 1 <= len(lags) <= 8:
        raise InputError(f"lags must be 1 to 8, got {len(lags)}")
    for lag in lags:
        _check_integer("lags", lag, 1, 255)
    if list(lags) != sorted(set(lags)):
        raise InputError(f"lags must ascend, got {lags}")


def _check_promise(options: Options) -> None:
    assert options.accepted_error is not None  # noqa: S101 - checked; for the type checker
    _check_range("accepted_error", options.accepted_error, 1e-4, 0.5)
    if options.independent not in (None, "recordings", "steps"):
        raise InputError(
            f"independent must be one of recordings, steps, got {options.independent!r}"
        )
    if options.mode != "guarded":
        raise InputError(
            f'accepted_error needs a fixed threshold, mode="guarded", got {options.mode!r}'
        )
    if options.projection != "pca":
        raise InputError(
            'accepted_error needs projection="pca": labels that fit a projection cannot choose the'
            f" threshold too, got {options.projection!r}"
        )
    if not options.alarm:
        raise InputError("accepted_error is promised until an alarm, and needs alarm=True")


def _check_range(name: str, value: float, low: float, high: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and low <= value <= high):
        raise InputError(f"{name} must lie in {low:g}..{high:g}, got {value!r}")


def _check_integer(name: str, value: int, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{name} must be a whole number in {low}..{high}, got {value!r}")


def _check_term(term: TermPlan) -> None:
    if not isinstance(term, TermPlan):
        raise InputError(f"terms must be of type TermPlan, got {type(term).__name__}")
    if term.signal not in get_args(Signal):
        raise InputError(
            f"a term's signal must be one of {', '.join(get_args(Signal))}, got {term.signal!r}"
        )
    if term.tail not in ("upper", "lower"):
        raise InputError(f"a term's tail must be upper or lower, got {term.tail!r}")
    if term.scale not in ("surprise", "odds"):
        raise InputError(f"a term's scale must be surprise or odds, got {term.scale!r}")
    if term.scale == "odds" and (term.signal, term.tail, term.ewma) != (
        "low_confidence",
        "upper",
        None,
    ):
        raise InputError(
            "a term's scale must be surprise, unless it is the upper tail of low_confidence, not"
            f" smoothed; got odds of {term.signal}, {term.tail}, ewma {term.ewma}"
        )
    if term.ewma is not None:
        _check_integer("a term's ewma", term.ewma, 1, 10)
    _check_range("a term's dead", term.dead, 0, 16)
    _check_range("a term's cap", term.cap, 0, 16)
    _check_range("a term's weight", term.weight, 0, MAX_TERM_WEIGHT)


# W = 16 in the paper; its warm-up is "multiples of W".
PAPER = Options(
    score="tcuq", signs="free", mode="adaptive", warmup=4 * 16, novelty=False, alarm=False
)
RECOMMENDED = Options()
PRESETS: Mapping[str, Options] = MappingProxyType({"paper": PAPER, "recommended": RECOMMENDED})


def options_from(preset: str, changes: Mapping[str, Any]) -> Options:
    """Return the preset's options, replaced by those changes that are not None."""
    changes = {name: value for name, value in changes.items() if value is not None}
    if "alpha" in changes and "accepted_error" in changes:
        raise InputError(
            "alpha and accepted_error both choose the threshold: give one of them, got"
            f" alpha={changes['alpha']!r} and accepted_error={changes['accepted_error']!r}"
        )
    for name in ("confidence", "independent"):
        if name in changes and "accepted_error" not in changes:
            raise InputError(f"{name} needs accepted_error, got {name}={changes[name]!r} alone")
    if "steps_per_false_alarm" in changes:
        changes = {"alarm": True, **changes}
    if preset not in get_args(Preset):
        raise InputError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    unknown = set(changes) - set(Options.__slots__)
    if unknown:
        known = ", ".join(Options.__slots__)
        raise InputError(f"{min(unknown)!r} is not an option; options are {known}")
    tidy = {name: _plain(name, value) for name, value in changes.items()}
    return replace(PRESETS[preset], **tidy)


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - checked by Options
    """Convert NumPy's scalars to Python's, and lists to tuples."""
    if name in ("lags", "terms"):
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InputError(f"{name} must be a list, got {value!r}")
        return tuple(_plain("", item) for item in value)
    return value.item() if isinstance(value, np.generic) else value
