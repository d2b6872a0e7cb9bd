# SPDX-License-Identifier: Apache-2.0
"""The calibration doctor: common mistakes in calibration data, each in one sentence with a fix."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tcuq.autocorrelation import autocorrelation_time
from tcuq.calibrate.alarm import AlarmFit
from tcuq.calibrate.bets import ChannelFit, block_steps, fastest_alarm_steps
from tcuq.calibrate.rehearsal import Rehearsal
from tcuq.errors import FitError
from tcuq.profile.settings import (
    ALPHA_BITS,
    TOKEN,
    AlarmSettings,
    BudgetSettings,
    Finding,
    PromiseSettings,
    ScoreSettings,
    StreamInfo,
    TcuqScoreSettings,
    ThresholdSettings,
)
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stages.inputs import posterior_bytes, probabilities
from tcuq.stream import SUM_TOLERANCE, Stream

Floats = NDArray[np.float64]

TEMPORAL = ("divergence", "instability", "inconsistency")
MIN_STANDARD_ERRORS = 4.5  # far above what the best of 60 unrelated series reaches by chance
FREQUENT = 0.05  # rarer classes are too few to test the order of the steps
MOST_SERIES = 32
FEW_BLOCKS, ENOUGH_BLOCKS = 50, 100
LEAST_STEPS_PER_FALSE_ALARM = 256
TOLERATED = 2  # the rehearsal's estimate is of 20 excursions or fewer
LONGER = 4
FEW_CHANGES = 20
ONE_CLASS = 0.9
ALWAYS_RIGHT = 0.998
ALWAYS_SURE = 0.999
ENOUGH_LABELS = 200
THIN = 1 / 16  # a largest probability below this has few bits left in a byte
OTHER_LABELS = 0.01  # share of steps at which bytes may name another class
HALF = 128


def diagnose_stream(stream: Stream, parts: Sequence[SignalColumns]) -> Iterator[Finding]:
    """Yield the faults of a stream as calibration data, the worst first."""
    columns = concatenate(parts)
    if stream.kind == "logits" and _are_probabilities(stream):
        yield Finding(
            "probabilities_as_logits",
            "The posteriors are declared as logits, but every row is a probability vector: say"
            ' kind="probabilities", or give the numbers before the softmax.',
        )
    if not _has_memory(stream, columns, [len(part.label) for part in parts]):
        yield Finding(
            "shuffled",
            "The steps look shuffled: no signal is related to the step before it. Record"
            " calibration in the order the device will see it; calibrated on shuffled steps, the"
            " alarm will not keep its rate in the field.",
        )
    if stream.classes:
        yield from _of_classes(stream, columns)
    yield from _dead_features(stream)
    yield from _short_recordings(parts)
    if len(parts) == 1:
        yield Finding(
            "one_recording",
            "Calibration is one recording, so nothing tells how recordings differ: record several"
            " (people, devices, days) and mark where each begins with starts=.",
        )


def _of_classes(stream: Stream, columns: SignalColumns) -> Iterator[Finding]:
    yield from _training_data(stream, columns)
    yield from _lost_in_bytes(stream)
    shares = np.bincount(columns.label) / len(columns.label)
    if shares.max() >= ONE_CLASS:
        yield Finding(
            "one_class",
            f"{100 * shares.max():.0f} % of the predictions are class {shares.argmax()}: the"
            " monitor will find every other class unusual. Record all classes as often as the"
            " field shows them.",
        )


def _short_recordings(parts: Sequence[SignalColumns]) -> Iterator[Finding]:
    time = autocorrelation_time([part.low_confidence for part in parts])
    block, typical = block_steps("risk", time), int(np.median([len(part.label) for part in parts]))
    if typical < block:
        yield Finding(
            "short_recordings",
            f"Recordings are short: half have at most {typical} steps, and a block of the alarm"
            f" takes {block}, so it spans recordings. That is right if the device pauses as often;"
            " else mark with starts= only where the stream really has a gap.",
        )


def diagnose_score(score: ScoreSettings) -> Iterator[Finding]:
    """Yield what limits the fitted score."""
    if isinstance(score, TcuqScoreSettings):
        weights = {name: getattr(score.weights, name) for name in TEMPORAL}
        negative = {name: w for name, w in weights.items() if w is not None and w < 0}
        if negative:
            listed = ", ".join(f"{name} {weight:.3g}" for name, weight in negative.items())
            yield Finding(
                "negative_weights",
                f"Negative weights ({listed}): the score calls a step safer because it differs from"
                " its past, which does not carry over to streams with another rhythm. Forbid it"
                ' with signs="monotone".',
            )


def diagnose_alarm(alarm: AlarmFit, info: StreamInfo, classes: int) -> Iterator[Finding]:
    """Yield what limits the fitted alarm, and a rate that calibration does not support."""
    yield from _short_or_repeated(alarm, info)
    yield from _rehearsed(alarm.settings, alarm.rehearsal, info)
    if classes:
        yield from _few_changes(alarm.settings, alarm.rehearsal)


def _short_or_repeated(alarm: AlarmFit, info: StreamInfo) -> Iterator[Finding]:
    if info.distinct < info.steps // 2:
        yield Finding(
            "repeated_steps",
            f"Only {info.distinct:,} of {info.steps:,} calibration steps are distinct, so"
            " the alarm counts its blocks as if the stream were that short. Record more instead of"
            " repeating.",
        )
    few = [fit for fit in alarm.channels if fit.independent_blocks < FEW_BLOCKS]
    if few:
        never = [fit for fit in few if fastest_alarm_steps(alarm.settings, fit.channel) == 0]
        needed = max(ENOUGH_BLOCKS * fit.channel.block for fit in few)
        fewest = min(fit.independent_blocks for fit in few)
        effect = f"{_names(never)} can never alarm" if never else "the alarm is slow"
        yield Finding(
            "too_short",
            f"Calibration is short: {_names(few)} got as few as {fewest} independent blocks,"
            f" so {effect}."
            f" About {needed:,} steps would give {ENOUGH_BLOCKS} to each.",
        )


def _rehearsed(alarm: AlarmSettings, rehearsal: Rehearsal, info: StreamInfo) -> Iterator[Finding]:
    rate, supported = alarm.steps_per_false_alarm, rehearsal.supported
    if supported < LEAST_STEPS_PER_FALSE_ALARM:
        raise FitError(
            "no rate of false alarms can be stated: stretches of calibration differ so much that"
            f" each raises alarms against the others, about one in {supported:,.0f} steps. Record"
            f" at least {LONGER * info.steps:,} steps, or fit without the alarm (alarm=False)"
        )
    if supported < rate / TOLERATED:
        yield Finding(
            "rehearsal",
            f"The alarm is set to one false alarm in {rate:,} steps. Held out stretch by stretch,"
            f" calibration supports about one in {_rounded(supported):,}: it is short, or its level"
            f" or spread moves slowly. Record {LONGER} times as long ({LONGER * info.steps:,}"
            f" steps), or state what holds: alarm=AlarmOptions({_rounded(supported)}).",
        )


def _few_changes(alarm: AlarmSettings, rehearsal: Rehearsal) -> Iterator[Finding]:
    supported = rehearsal.supported >= alarm.steps_per_false_alarm / TOLERATED
    if supported and rehearsal.label_changes < FEW_CHANGES:
        yield Finding(
            "few_changes",
            f"The label changes only {rehearsal.label_changes} times in calibration: a class that"
            " was not met, or met once, will look like a change of the stream. Record until it has"
            f" changed {FEW_CHANGES} times.",
        )


def _rounded(steps: float) -> int:
    """Return the power of two below, which a rate may be."""
    return max(LEAST_STEPS_PER_FALSE_ALARM, 1 << int(math.log2(steps)))


def diagnose_promise(promise: PromiseSettings | None, budget: BudgetSettings) -> Iterator[Finding]:
    """Yield that the budget denies abstentions which the promise needs."""
    rate = budget.rate_q16 / TOKEN
    if promise is not None and promise.coverage < 1 - rate:
        withheld = 1 - promise.coverage
        yield Finding(
            "denied",
            f"The promise withholds {100 * withheld:.1f} % of the steps and the budget allows"
            f" {100 * rate:.1f} %: about {100 * promise.denied:.1f} % will be DENIED, which are not"
            f" accepted and not covered. Give budget={np.ceil(100 * withheld) / 100:g}, or a larger"
            " accepted_error.",
        )


def diagnose_alpha(threshold: ThresholdSettings, budget: BudgetSettings) -> Iterator[Finding]:
    """Yield that more steps ask to be withheld than the budget allows."""
    alpha, rate = threshold.alpha_q16 / (1 << ALPHA_BITS), budget.rate_q16 / TOKEN
    if threshold.step != 0 and alpha > rate:
        yield Finding(
            "alpha",
            f"alpha asks to withhold {100 * alpha:.3g} % of the steps, and the budget allows"
            f" {100 * rate:.3g} %: the rest will be DENIED. Give budget={alpha:.2g} or more, or a"
            " smaller alpha: it is the share withheld, not a confidence.",
        )


def refuse_lost_labels(stream: Stream, labels: NDArray[np.int32]) -> None:
    """Refuse posteriors whose largest class bytes cannot carry."""
    rows = probabilities(stream.posteriors, stream.kind)
    thin = rows.max(axis=1) < THIN  # elsewhere only near ties can change places
    other = float(((rows.argmax(axis=1) != labels) & thin).mean())
    if other > OTHER_LABELS:
        raise FitError(
            f"8-bit rounding of the posteriors changes the class at {100 * other:.1f} % of steps:"
            f" {stream.classes} classes spread the probability too thin."
            " Sharpen the softmax (a lower temperature), or merge classes"
        )


def _names(fits: Sequence[ChannelFit]) -> str:
    return ", ".join(fit.channel.signal for fit in fits)


def _are_probabilities(stream: Stream) -> bool:
    rows = stream.posteriors.astype(np.float64)
    if stream.classes == 2 and not rows[:, 0].any():  # one output, stacked as 0 and z
        return bool(rows[:, 1].min() >= 0 and rows[:, 1].max() <= 1)
    return bool(rows.min() >= 0 and np.abs(rows.sum(axis=1) - 1).max() <= SUM_TOLERANCE)


def _has_memory(stream: Stream, columns: SignalColumns, lengths: Sequence[int]) -> bool:
    """Tell whether any series correlates with its previous step beyond chance."""
    first = np.zeros(len(stream), np.bool_)
    first[np.cumsum([0, *lengths[:-1]])] = True
    later = np.flatnonzero(~first)
    if len(later) == 0:
        return False
    classes, counts = np.unique(columns.label, return_counts=True)
    frequent = classes[counts >= FREQUENT * len(stream)]
    series = [columns.low_confidence, *((columns.label == c).astype(float) for c in frequent)]
    if columns.novelty is not None:
        series.append(columns.novelty)
    if stream.features is not None:
        series += list(stream.features[:, :MOST_SERIES].T.astype(np.float64))
    if stream.health is not None:
        series += list(stream.health.T.astype(np.float64))
    return any(
        _correlation(values, later) * np.sqrt(len(later)) > MIN_STANDARD_ERRORS for values in series
    )


def _correlation(values: Floats, later: NDArray[np.int64]) -> float:
    """Return the rank correlation of consecutive steps, which no single outlier decides."""
    _, level, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2)[level.ravel()]
    ranks = ranks - ranks.mean()
    spread = float(ranks @ ranks)
    return float(ranks[later] @ ranks[later - 1]) / spread if spread > 0 else 0.0


def _training_data(stream: Stream, columns: SignalColumns) -> Iterator[Finding]:
    known = np.zeros(0, np.int64) if stream.labels is None else np.flatnonzero(stream.labels >= 0)
    sure = float(columns.confidence.mean())
    evidence = f"its mean confidence is {sure:.4f}" if sure >= ALWAYS_SURE else ""
    if stream.labels is not None and len(known) >= ENOUGH_LABELS:
        right = float((columns.label[known] == stream.labels[known]).mean())
        evidence = f"its accuracy is {right:.4f}" if right >= ALWAYS_RIGHT else ""
    if evidence:
        yield Finding(
            "training_data",
            f"Calibration looks like training data: {evidence}. If the classifier was trained on"
            " it, the field will look unusual; record data it has not seen.",
        )


def _lost_in_bytes(stream: Stream) -> Iterator[Finding]:
    lost = float((posterior_bytes(stream.posteriors, stream.kind).sum(axis=1) < HALF).mean())
    if lost > OTHER_LABELS:
        yield Finding(
            "classes_beyond_bytes",
            f"At {100 * lost:.0f} % of the steps more than half of the probability is lost in bytes"
            f" (1/256), as {stream.classes} classes spread it thin: divergence and confidence are"
            " rough there. Sharpen the softmax, or merge classes.",
        )


def _dead_features(stream: Stream) -> Iterator[Finding]:
    if stream.features is None:
        return
    constant = np.ptp(stream.features.astype(np.float64), axis=0) == 0
    if constant.any():
        count = int(constant.sum())
        everyone = "every feature is" if count == stream.width else f"{count} of {stream.width} are"
        yield Finding(
            "dead_features",
            f"Features that never change cannot show a shift: {everyone} constant. Check which"
            " layer is recorded; a dead unit can be left out.",
        )
