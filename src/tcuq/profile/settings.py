# SPDX-License-Identifier: Apache-2.0
"""The settings of every stage: plain frozen data, written by the fit and read by the stages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntFlag
from typing import Literal, get_args

from tcuq.stream import Kind

MAX_DIMENSIONS = 32
MAX_TERM_WEIGHT = 64
MAX_NOVELTY = 16.0  # bits
UNSEEN = 1 / 512  # probability of a class whose byte is 0: half of a byte's unit
MAX_STAY_CLASSES = 100  # contradiction takes no label to be rarer than one in so many
RISK_LEVELS = 1 << 14
ALPHA_BITS = 16
TOKEN = 1 << 16
MIN_BLOCK, MAX_BLOCK = 8, 1 << 13
UNITS_PER_BLOCK = 16  # the alarm counts blocks in sixteenths
MAX_COUNT = (1 << 16) - 1 - UNITS_PER_BLOCK
MAX_STEPS_PER_FALSE_ALARM = 1 << 24
RECENT_BLOCKS = 2  # blocks for which one that passed an edge is remembered
CAUTION = 4  # the limit is so many times what independent blocks need
MAX_ALARM_LIMIT = 20 << 24
BOOT_STEPS = 1024  # after a boot the alarm also bets on calibration alone for so long
MAX_HEALTH_DISTANCE = 32767 / 1024  # of a statistic from its mean
MAX_HEALTH_SCORE = 8191 / 64  # standard deviations
MIN_HEALTH_SCALE, MAX_HEALTH_SCALE = 1 / 64, 32.0
TEMPERATURE = "softmax.temperature"  # a figure of the profile, for comparisons

Signal = Literal[
    "divergence",
    "instability",
    "inconsistency",
    "doubt",
    "low_confidence",
    "novelty",
    "contradiction",
    "departure",
]
ChannelSignal = Literal["risk", "novelty", "divergence", "instability", "health"]
NEEDS_CLASSES: frozenset[Signal] = frozenset(
    {"inconsistency", "doubt", "low_confidence", "contradiction"}
)
NEEDS_FEATURES: frozenset[Signal | ChannelSignal] = frozenset({"instability", "novelty"})

Row = tuple[float, ...]
Matrix = tuple[Row, ...]


class AlarmFlag(IntFlag):
    """The channel that alarmed at a step, numbered as on the device."""

    RISK = 1
    NOVELTY = 2
    DIVERGENCE = 4
    INSTABILITY = 8
    HEALTH = 16
    SINCE_BOOT = 128

    def __str__(self) -> str:
        return ", ".join(str(f.name).lower().replace("_", " ") for f in self) or "none"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    @classmethod
    def of(cls, signal: ChannelSignal) -> "AlarmFlag":
        """The flag of the channel that reads this signal."""
        return cls[signal.upper()]


@dataclass(frozen=True, slots=True)
class Projection:
    """Wide features to at most 32: matrix · (features - mean)."""

    kind: Literal["pca", "lda"]
    mean: Row
    matrix: Matrix
    scale: float = 1.0  # one int8 step of a projected feature, on the device


@dataclass(frozen=True, slots=True)
class OutputSettings:
    """Of each output of a model without classes: its middle, and one int8 step, on the device."""

    centres: Row
    scales: Row


@dataclass(frozen=True, slots=True)
class InputSettings:
    """Format of a step's posteriors, or outputs where ``classes`` is 0, and features."""

    kind: Kind
    classes: int
    width: int
    projection: Projection | None
    feature_scale: float | None = None  # one int8 step of a feature, on the device
    outputs: OutputSettings | None = None
    selection: tuple[int, ...] | None = None  # the features that are looked at; None: all

    @property
    def what(self) -> str:
        """What a step carries beside features, in words."""
        if self.outputs is None:
            return f"{self.classes} classes"
        return f"{self.columns} output{'s' * (self.columns > 1)}"

    @property
    def columns(self) -> int:
        """Numbers of a step's posterior, or of its outputs."""
        return self.classes if self.outputs is None else len(self.outputs.centres)

    @property
    def dimensions(self) -> int:
        """Number of features after the projection or selection, 0 without features."""
        if self.selection is not None:
            return len(self.selection)
        return self.width if self.projection is None else len(self.projection.matrix)


@dataclass(frozen=True, slots=True)
class NoveltySettings:
    """Class means and the whitening under which distances are measured."""

    means: Matrix
    whitening: Matrix


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """Name, mean and standard deviation of each statistic of input health."""

    names: tuple[str, ...]
    means: Row
    scales: Row


@dataclass(frozen=True, slots=True)
class SignalSettings:
    """Lags looked back over, the blend in doubt, and the references of novelty and health.

    ``stickiness`` is the probability with which contradiction expects the last label to stay;
    without it there is no contradiction.
    """

    lags: tuple[int, ...]
    blend: float
    stickiness: float
    novelty: NoveltySettings | None
    health: HealthSettings | None = None

    @property
    def health_names(self) -> tuple[str, ...]:
        """The statistics of input health that the profile reads."""
        return () if self.health is None else self.health.names


@dataclass(frozen=True, slots=True)
class CombinerWeights:
    """One weight per signal; instability is None where there are no features."""

    divergence: float
    instability: float | None
    inconsistency: float
    doubt: float


@dataclass(frozen=True, slots=True)
class TcuqScoreSettings:
    """The paper's score."""

    signs: Literal["free", "monotone"]
    weights: CombinerWeights
    bias: float
    mix: float
    kind: Literal["tcuq"] = "tcuq"


@dataclass(frozen=True, slots=True)
class Term:
    """One signal's surprise, in bits, against the calibration stream; or the odds of an error.

    Bits are at most 16. With ``ewma`` they are smoothed, from ``start`` on. The term adds
    clip(bits - dead, 0, cap), times ``weight`` to the risk and ``error_weight`` to the expected
    error.
    """

    signal: Signal
    scale: Literal["surprise", "odds"]
    ewma: int | None
    start: float
    dead: float
    cap: float
    weight: float
    error_weight: float
    points: Row
    bits: Row
    slope: float


@dataclass(frozen=True, slots=True)
class AnchoredScoreSettings:
    """The sigmoid of a weighted sum of surprises and a bias: of the risk, of the expected error."""

    terms: tuple[Term, ...]
    bias: float
    error_bias: float
    kind: Literal["anchored"] = "anchored"


ScoreSettings = TcuqScoreSettings | AnchoredScoreSettings


@dataclass(frozen=True, slots=True)
class NoveltyTerm:
    """One signal's surprise in the decision's novelty: its share, and its table of bits."""

    signal: Signal
    share: float
    points: Row
    bits: Row
    slope: float

    def as_term(self) -> Term:
        """Return it as a term that adds nothing to the risk."""
        return Term(
            self.signal,
            scale="surprise",
            ewma=None,
            start=0.0,
            dead=0.0,
            cap=MAX_NOVELTY,
            weight=0.0,
            error_weight=0.0,
            points=self.points,
            bits=self.bits,
            slope=self.slope,
        )


@dataclass(frozen=True, slots=True)
class ThresholdSettings:
    """The ledger: alpha in 1/65536, the rest in risk levels of 0..16384; step 0 keeps it fixed.

    A step whose novelty is at or above ``novelty_limit``, in bits, asks to be withheld as well.
    """

    mode: Literal["guarded", "adaptive"]
    alpha_q16: int
    step: int
    start: int
    anchor: int
    warmup: int
    novelty_limit: float | None = None


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The token bucket, in 1/65536 token, and what becomes of a step that it denies."""

    rate_q16: int
    burst_q16: int
    denied: Literal["use", "withhold"] = "withhold"


@dataclass(frozen=True, slots=True)
class Channel:
    """One alarm channel: its blocks, their edges, and how often calibration passed them.

    Counts are in sixteenths of a block. ``passes`` has two rows: for blocks after two that passed
    no edge, and for all others; ``chances`` counts the blocks of the first kind.
    """

    signal: ChannelSignal
    centre: float | None
    block: int
    edges: Row
    gains_q8: tuple[int, ...]
    passes: tuple[tuple[int, ...], ...]
    chances: int


@dataclass(frozen=True, slots=True)
class AlarmSettings:
    """One false alarm in this many steps, over these channels together; the steps of an epoch.

    The limit is ``caution`` times what independent blocks would need.
    """

    steps_per_false_alarm: int
    epoch_steps: int
    channels: tuple[Channel, ...]
    caution: int = CAUTION

    @property
    def limit(self) -> int:
        """The evidence, weighted by block length and summed over channels, that alarms."""
        limit = self.caution * len(self.channels) * self.steps_per_false_alarm
        return min(limit, MAX_ALARM_LIMIT)

    def boot_limit_q8(self, channel: Channel) -> int:
        """Return the bits, in 1/256, at which calibration's own bets alarm after a boot."""
        steps = len(self.channels) * self.steps_per_false_alarm
        return max(256, math.ceil(256 * math.log2(2 * steps / channel.block)))


@dataclass(frozen=True, slots=True)
class PromiseSettings:
    """A bound on the share of wrong predictions among the accepted, and the labels behind it.

    Of ``labelled`` accepted calibration steps ``errors`` were wrong; they count as ``independent``
    recordings or steps, as ``unit`` says. ``coverage`` and ``denied`` are the shares of calibration
    steps that would be accepted, and denied by the budget.
    """

    accepted_error: float
    confidence: float
    unit: Literal["recordings", "steps"]
    independent: int
    labelled: int
    errors: int
    coverage: float
    denied: float

    @property
    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"of what it accepts at most {100 * self.accepted_error:g} % is wrong, with"
            f" {100 * self.confidence:g} % confidence, as long as no alarm stands"
        )


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """The settings of all stages."""

    inputs: InputSettings
    signals: SignalSettings
    score: ScoreSettings
    novelty: tuple[NoveltyTerm, ...]  # of the decision; empty: none
    threshold: ThresholdSettings
    budget: BudgetSettings
    alarm: AlarmSettings | None
    promise: PromiseSettings | None

    @property
    def present_signals(self) -> tuple[Signal, ...]:
        """The signals that these inputs allow."""
        absent = set(NEEDS_FEATURES) if self.inputs.width == 0 else set()
        absent |= {"departure"} if self.inputs.outputs is None else set(NEEDS_CLASSES)
        if self.signals.novelty is None:
            absent.add("novelty")
        if self.signals.stickiness == 0:
            absent.add("contradiction")
        return tuple(s for s in get_args(Signal) if s not in absent)

    @property
    def present_channels(self) -> tuple[ChannelSignal, ...]:
        """The channels that these inputs allow."""
        available = {"risk", *self.present_signals}
        if self.signals.health is not None:
            available.add("health")
        return tuple(c for c in get_args(ChannelSignal) if c in available)


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """Identity and size of a stream that a profile was fitted on."""

    sha256: str
    steps: int
    recordings: int
    distinct: int
    labelled: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake or weakness in the calibration data: a name, and a sentence with a fix."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """The streams a profile was fitted on, the fit's figures and its findings."""

    library: str
    preset: Literal["paper", "recommended"]
    seed: int
    calibration: StreamInfo
    development: StreamInfo | None
    figures: Mapping[str, float]
    findings: tuple[Finding, ...]
