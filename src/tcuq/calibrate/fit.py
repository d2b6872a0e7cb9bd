# SPDX-License-Identifier: Apache-2.0
"""Fit: recorded streams to a profile, stage by stage, in the order of the data."""

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tcuq.alarm import channel_input
from tcuq.calibrate.bets import ChannelFit, fit_channel, gains_q8
from tcuq.calibrate.observe import Parts, observe, observe_calibration
from tcuq.calibrate.presets import (
    Options,
    Preset,
    options_from,
)
from tcuq.calibrate.projection import fit_projection, int8_step
from tcuq.calibrate.scores import fit_anchored, fit_anchored_weights, fit_tcuq
from tcuq.errors import CalibrationWarning, FitError
from tcuq.profile import Profile
from tcuq.score import make_score
from tcuq.settings import (
    ALPHA_BITS,
    RISK_LEVELS,
    TOKEN,
    AlarmSettings,
    BudgetSettings,
    InputSettings,
    Provenance,
    Recorded,
    ScoreSettings,
    Signal,
    SignalSettings,
    TcuqScoreSettings,
    ThresholdSettings,
)
from tcuq.stream import Stream
from tcuq.summary import summary
from tcuq.version import __version__

CHANNELS: tuple[Signal, ...] = ("low_confidence", "novelty", "divergence", "instability")
TEMPORAL = ("divergence", "instability", "inconsistency")
ENOUGH_BLOCKS = 100
DEPENDENT = 0.3
FEWEST_STEPS = 256
LEDGER_STEP = RISK_LEVELS // 128


def fit(
    calibration: Stream,
    development: Stream | None = None,
    *,
    preset: Preset = "recommended",
    verbose: bool = True,
    **changes: Any,  # noqa: ANN401 - checked by name and value against Options
) -> Profile:
    """Calibrate a monitor.

    Parameters
    ----------
    calibration
        In distribution, in recorded order, not seen in training. Labels help novelty, but are not
        needed.
    development
        Labelled, mixing in-distribution and shifted steps. The tcuq score needs it; the anchored
        score fits its weights on it if it is given.
    preset
        "recommended", or "paper" for the paper's system.
    verbose
        Print what was found.
    **changes
        Any field of ``tcuq.Options``: alpha, budget, burst, score, signs, mix, blend, lags, terms,
        mode, warmup, h, caution, projection, seed.

    Examples
    --------
    >>> import tcuq
    >>> from tcuq.demo import demo_stream
    >>> profile = tcuq.fit(demo_stream("calibration"), alpha=0.05, verbose=False)
    >>> profile.score.kind, profile.threshold.mode
    ('anchored', 'guarded')
    """
    options = options_from(preset, changes)
    _check_streams(calibration, development, options)
    inputs = InputSettings(
        calibration.kind,
        calibration.classes,
        calibration.width,
        fit_projection(calibration, options.projection, options.seed),
        None if calibration.features is None else int8_step(calibration.features),
    )
    signals, parts = observe_calibration(calibration, inputs, options.lags, options.blend)
    score = _fit_score(parts, development, inputs, signals, options)
    threshold = _fit_threshold(score, parts, options)
    recorded = _recorded(calibration)
    fits = [] if options.h is None else _fit_channels(parts, recorded, inputs, options)
    alarm = None if options.h is None else AlarmSettings(options.h, tuple(f.channel for f in fits))
    found = list(_warnings(score, alarm, fits, recorded))
    profile = Profile(
        inputs,
        signals,
        score,
        threshold,
        BudgetSettings(round(options.budget * TOKEN), round(options.burst * TOKEN)),
        alarm,
        Provenance(
            library=__version__,
            preset=preset,
            seed=options.seed,
            calibration=recorded,
            development=None if development is None else _recorded(development),
            figures=_figures(alarm, fits, threshold),
            warnings=tuple(found),
        ),
    )
    # What was made is held to the same rules as what is loaded.
    profile = Profile.from_json(profile.to_json())
    for message in found:
        warnings.warn(message, CalibrationWarning, stacklevel=2)
    if verbose:
        print(summary(profile))  # noqa: T201 - asked for
    return profile


def _check_streams(calibration: Stream, development: Stream | None, options: Options) -> None:
    if len(calibration) < FEWEST_STEPS:
        raise FitError(
            f"calibration must have at least {FEWEST_STEPS} steps, got {len(calibration)}"
        )
    longest, lag = max(len(part) for part in calibration.parts()), max(options.lags)
    if longest <= lag:
        raise FitError(
            f"a recording of calibration must be longer than the longest lag, {lag} steps,"
            f" got {longest} at most"
        )
    if options.score == "tcuq" and development is None:
        raise FitError(
            'score="tcuq" needs a development stream with labels;'
            ' give development=, or use score="anchored"'
        )
    if development is None:
        return
    for name in ("kind", "classes", "width"):
        ours, theirs = getattr(calibration, name), getattr(development, name)
        if ours != theirs:
            raise FitError(f"development must have {name} {ours!r} as calibration, got {theirs!r}")


def _fit_score(
    parts: Parts,
    development: Stream | None,
    inputs: InputSettings,
    signals: SignalSettings,
    options: Options,
) -> ScoreSettings:
    seen = None if development is None else observe(development, inputs, signals)
    if options.score == "tcuq":
        assert development is not None  # noqa: S101 - checked; for the type checker
        assert seen is not None  # noqa: S101
        return fit_tcuq(development, seen, options)
    score = fit_anchored(parts, options.terms, has_features=inputs.width > 0)
    if development is None or seen is None:
        return score
    return fit_anchored_weights(score, development, seen)


def _fit_threshold(score: ScoreSettings, parts: Parts, options: Options) -> ThresholdSettings:
    """Start and anchor: the lowest risk level that at most alpha of the calibration steps reach."""
    stage = make_score(score)
    levels = []
    for part in parts:
        stage.reset_history()
        levels.append(np.rint(stage.run(part) * RISK_LEVELS))
    ordered = np.sort(np.concatenate(levels))
    alpha_q16 = round(options.alpha * (1 << ALPHA_BITS))
    allowed = len(ordered) * alpha_q16 >> ALPHA_BITS
    anchor = int(min(ordered[len(ordered) - allowed - 1] + 1, RISK_LEVELS))
    return ThresholdSettings(options.mode, alpha_q16, LEDGER_STEP, anchor, anchor, options.warmup)


def _fit_channels(
    parts: Parts, recorded: Recorded, inputs: InputSettings, options: Options
) -> Sequence[ChannelFit]:
    names = [c for c in CHANNELS if inputs.width or c not in ("novelty", "instability")]
    return [
        fit_channel(
            name,
            [channel_input(part, name)[1] for part in parts],
            channels=len(names),
            caution=options.caution,
            distinct_share=recorded.distinct / recorded.steps,
        )
        for name in names
    ]


def _recorded(stream: Stream) -> Recorded:
    return Recorded(
        sha256=stream.sha256,
        steps=len(stream),
        recordings=sum(1 for _ in stream.parts()),
        distinct=stream.distinct,
        labelled=0 if stream.labels is None else int((stream.labels >= 0).sum()),
    )


def _figures(
    alarm: AlarmSettings | None, fits: Sequence[ChannelFit], threshold: ThresholdSettings
) -> dict[str, float]:
    figures = {"threshold.anchor_risk": threshold.anchor / RISK_LEVELS}
    if alarm is None:
        return figures
    figures["alarm.expected_steps_between_false_alarms"] = float(2**alarm.h)
    for fitted in fits:
        channel, name = fitted.channel, fitted.channel.signal
        figures[f"{name}.autocorrelation_time_steps"] = fitted.autocorrelation_time
        figures[f"{name}.block_steps"] = channel.block
        figures[f"{name}.independent_blocks"] = fitted.independent_blocks
        figures[f"{name}.neighbour_correlation"] = fitted.neighbour_correlation
        figures[f"{name}.fastest_alarm_steps"] = _fastest(alarm, fitted, fitted.independent_blocks)
        figures[f"{name}.fastest_alarm_steps_if_4_times_longer"] = _fastest(
            alarm, fitted, 4 * fitted.independent_blocks
        )
    return figures


def _fastest(alarm: AlarmSettings, fitted: ChannelFit, blocks: int) -> float:
    """Steps until the alarm if every block passes every edge; 0 if it could never come."""
    gain = gains_q8(blocks, len(alarm.channels))[-1]
    if gain <= 0:
        return 0.0
    return float(math.ceil(alarm.limit_q8(fitted.channel) / gain) * fitted.channel.block)


def _warnings(
    score: ScoreSettings,
    alarm: AlarmSettings | None,
    fits: Sequence[ChannelFit],
    recorded: Recorded,
) -> Iterator[str]:
    if isinstance(score, TcuqScoreSettings):
        for name in TEMPORAL:
            weight = getattr(score.weights, name)
            if weight is not None and weight < 0:
                yield (
                    f"the weight of {name} is negative ({weight:.3g}): the score calls a step safer"
                    " because it differs from its past; this does not carry over to streams with"
                    ' another rhythm than development\'s. signs="monotone" forbids it'
                )
    if alarm is not None and recorded.distinct < recorded.steps // 2:
        yield (
            f"only {recorded.distinct} of {recorded.steps} calibration steps are distinct: repeats"
            " carry no news, so the alarm counts blocks as if the stream were that short"
        )
    for fitted in fits:
        channel = fitted.channel
        if fitted.neighbour_correlation > DEPENDENT:
            yield (
                f"channel {channel.signal}: blocks of {channel.block} steps still depend on each"
                f" other (neighbours correlate by {fitted.neighbour_correlation:.2f}), so false"
                " alarms may come more often than promised; caution=2 doubles the blocks"
            )
        if alarm is not None and fitted.independent_blocks < ENOUGH_BLOCKS:
            pace = "can never alarm" if channel.gains_q8[-1] <= 0 else "alarms slowly"
            yield (
                f"channel {channel.signal}: {fitted.independent_blocks} independent blocks of"
                f" {channel.block} steps are few for one false alarm in 2^{alarm.h} steps, so it"
                f" {pace}; about {ENOUGH_BLOCKS * channel.block:,} steps would give"
                f" {ENOUGH_BLOCKS}"
            )
