# SPDX-License-Identifier: Apache-2.0
"""Fit: make a profile from recorded streams, stage by stage, in the order of the data."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import UNKNOWN
from tcuq.calibrate.acceptance import promised_threshold, without_labels
from tcuq.calibrate.alarm import AlarmFit, fit_alarm
from tcuq.calibrate.bets import fastest_alarm_steps
from tcuq.calibrate.doctor import (
    diagnose_alarm,
    diagnose_alpha,
    diagnose_promise,
    diagnose_score,
    diagnose_stream,
    refuse_lost_labels,
)
from tcuq.calibrate.novelty import (
    fit_novelty_terms,
    fit_output_novelty,
    novelty_limit,
    unknown_class_auroc,
)
from tcuq.calibrate.observe import Observed, observe, observe_calibration, risk_levels
from tcuq.calibrate.outputs import error_share, fit_outputs
from tcuq.calibrate.projection import fit_projection, fit_selection, int8_step
from tcuq.calibrate.scores import fit_anchored, fit_anchored_weights, fit_stress, fit_tcuq
from tcuq.calibrate.streams import check_streams
from tcuq.calibrate.temperature import fit_temperature
from tcuq.errors import CalibrationWarning, FitError
from tcuq.options import (
    AlarmOptions,
    FitOptions,
    PaperOptions,
    Preset,
    PromiseOptions,
    TermPlan,
    options_from,
)
from tcuq.profile import Profile
from tcuq.profile.settings import (
    ALPHA_BITS,
    RISK_LEVELS,
    TEMPERATURE,
    TOKEN,
    BudgetSettings,
    Finding,
    InputSettings,
    NoveltyTerm,
    Provenance,
    ScoreSettings,
    StreamInfo,
    ThresholdSettings,
)
from tcuq.profile.summary import MOST_FINDINGS
from tcuq.stages.inputs import logits
from tcuq.stream import Stream, require_stream
from tcuq.version import __version__


def fit(
    calibration: Stream,
    development: Stream | None = None,
    *,
    stress: Stream | None = None,
    preset: Preset = "recommended",
    alpha: float | None = None,
    unusual: float | None = None,
    budget: float | None = None,
    burst: float | None = None,
    denied: Literal["use", "withhold"] | None = None,
    lags: Iterable[int] | None = None,
    dimensions: int | None = None,
    terms: Iterable[TermPlan] | None = None,
    novelty: bool | None = None,
    projection: Literal["pca", "lda"] | None = None,
    seed: int | None = None,
    alarm: AlarmOptions | bool | None = None,
    promise: PromiseOptions | None = None,
    paper: PaperOptions | None = None,
    verbose: bool = False,
) -> Profile:
    """Calibrate a monitor, in the arithmetic that the device runs.

    An option that is None takes the preset's value; parentheses give it where "paper" differs from
    "recommended".

    Parameters
    ----------
    calibration
        In distribution, in recorded order, not used in training. Labels help novelty, and the
        weights if there is a development stream, but are not needed.
    development
        Labelled, mixing in-distribution and shifted steps; steps labelled
        ``tcuq.OUT_OF_DISTRIBUTION`` count as errors. The tcuq score needs it. The anchored score
        needs no labels, but with them learns how much each term tells of this classifier's errors:
        weights and bias by logistic regression, pulled towards the label-free weights, on the
        steps as recorded and grouped by class, so that they also hold where the field dwells
        longer on a class than the recording did.
    stress
        From ``tcuq.tap.stress`` or ``tcuq record --stress``, in place of a development stream:
        faults of recorded inputs say how much novelty tells of this classifier's errors.
    preset
        "recommended", or "paper" for the paper's system.
    alpha
        Share of calibration steps that ask to be withheld; 0.1.
    unusual
        Share of alpha for steps whose novelty is unlike calibration, whatever their risk; 0.01
        ("paper", or with a promise: 0).
    budget, burst
        In any n steps at most burst + budget · n abstentions; further requests are DENIED; 0.15
        and 16.
    denied
        What becomes of a DENIED prediction: "withhold", so that the budget bounds the abstentions
        that cost something (a question to a person, a radio message) and doubtful predictions are
        never used; or "use", so that it bounds all that is withheld; "withhold" ("paper": "use").
    lags
        Steps looked back over; 3 (with score "tcuq": 1, 2, 4).
    dimensions
        Most features that are looked at; 24 (with score "tcuq": 32).
    terms
        Terms of the anchored score.
    novelty
        Whether a decision carries novelty, a surprise in bits; True ("paper": False).
    projection
        For more than 32 features: "pca" or "lda". Of fewer, those are looked at that tell
        predicted classes apart best.
    seed
        Seed of all randomness in the fit; 0.
    alarm
        Whether to watch for a changed stream; ``AlarmOptions`` say how rare false alarms are; True
        ("paper": False).
    promise
        ``PromiseOptions``: bound the share of errors among accepted predictions, by labels.
    paper
        ``PaperOptions``: the paper's score and adaptive threshold in place of the library's.
    verbose
        Print the profile's summary.

    Warns
    -----
    CalibrationWarning
        Once, with at most five findings, the worst first; ``profile.provenance.findings`` has all.

    Examples
    --------
    >>> import tcuq
    >>> stream = tcuq.demo_stream("calibration")
    >>> profile = tcuq.fit(stream, alpha=0.05, alarm=tcuq.AlarmOptions(epoch_steps=24 * 3600))
    >>> profile.score.kind, profile.threshold.mode
    ('anchored', 'guarded')
    """
    require_stream(calibration, "calibration")
    options = options_from(
        preset,
        {
            "alpha": alpha,
            "unusual": unusual,
            "budget": budget,
            "burst": burst,
            "denied": denied,
            "lags": lags,
            "dimensions": dimensions,
            "terms": terms,
            "novelty": novelty,
            "projection": projection,
            "seed": seed,
            "alarm": alarm,
            "promise": promise,
            "paper": paper,
        },
    )
    profile = _fit(calibration, (development, stress), preset, options)
    findings = profile.provenance.findings[:MOST_FINDINGS]
    if findings:
        message = "\n".join(finding.sentence for finding in findings)
        warnings.warn(message, CalibrationWarning, stacklevel=2)
    if verbose:
        print(profile.summary())  # noqa: T201 - requested
    return profile


def diagnose(stream: Stream) -> tuple[Finding, ...]:
    """Return common mistakes in a stream meant for calibration, the worst first.

    Examples
    --------
    >>> from tcuq.demo import demo_stream
    >>> diagnose(demo_stream("calibration"))
    ()
    """
    options = options_from("recommended", {})
    try:
        check_streams(stream, None, None, options)
    except FitError as error:
        return (Finding("too_short", f"No monitor can be calibrated on it: {error}."),)
    inputs = _fit_inputs(stream, options)
    observed = observe_calibration(stream, inputs, options)
    return tuple(diagnose_stream(stream, observed.parts))


def _fit_inputs(calibration: Stream, options: FitOptions) -> InputSettings:
    return InputSettings(
        calibration.kind,
        calibration.classes,
        calibration.width,
        fit_projection(calibration, options),
        None if calibration.features is None else int8_step(calibration.features),
        None if calibration.outputs is None else fit_outputs(calibration.outputs),
        fit_selection(calibration, options.dimensions),
    )


def _fit(
    calibration: Stream,
    others: tuple[Stream | None, Stream | None],
    preset: Preset,
    options: FitOptions,
) -> Profile:
    check_streams(calibration, *others, options)
    second = next((other for other in others if other is not None), None)
    # Labels that choose the threshold serve nothing else: its tests need them unused.
    source = calibration if options.promise is None else without_labels(calibration)
    inputs = _fit_inputs(source, options)
    observed = observe_calibration(source, inputs, options)
    signals, parts = observed.signals, observed.parts
    if inputs.classes:
        refuse_lost_labels(calibration, np.concatenate([part.label for part in parts]))
    score = _fit_score((source, observed), others, inputs, options)
    levels = risk_levels(parts, inputs, signals, score)
    novelty = _fit_novelty(observed, inputs) if options.novelty else ()
    limit = novelty_limit(parts, novelty, options.alpha * options.unusual)
    # Rounded down: the guarantee must hold for the user's number.
    rate, burst = math.floor(options.budget * TOKEN), math.floor(options.burst * TOKEN)
    budget = BudgetSettings(rate, burst, options.denied)
    if options.promise is None:
        threshold, promise = _fit_threshold(levels, limit, options), None
    else:
        threshold, promise = promised_threshold(calibration, parts, levels, options.promise, budget)
    info = _stream_info(calibration)
    alarm = None if options.alarm is None else fit_alarm(parts, levels, info, options.alarm)
    profile = Profile(
        inputs,
        signals,
        score,
        novelty,
        threshold,
        budget,
        None if alarm is None else alarm.settings,
        promise,
        Provenance(
            library=__version__,
            preset=preset,
            seed=options.seed,
            calibration=info,
            development=None if second is None else _stream_info(second),
            figures=_figures(alarm, threshold) | _temperature_figure(calibration),
            findings=(
                *diagnose_stream(calibration, parts),
                *diagnose_score(score),
                *(() if alarm is None else diagnose_alarm(alarm, info, inputs.classes)),
                *diagnose_alpha(threshold, budget),
                *diagnose_promise(promise, budget),
            ),
        ),
    )
    # A fitted profile passes the same checks as a loaded one.
    return Profile.from_json(profile.to_json())


def _fit_score(
    calibration: tuple[Stream, Observed],
    others: tuple[Stream | None, Stream | None],
    inputs: InputSettings,
    options: FitOptions,
) -> ScoreSettings:
    development, stress = others
    stream, observed = calibration
    signals, parts = observed.signals, observed.parts
    if options.paper.score == "tcuq":
        assert development is not None  # noqa: S101 - checked; for the type checker
        return fit_tcuq(development, observe(development, inputs, signals), options)
    wrong = None if inputs.classes else error_share(stream, options.alpha)
    score = fit_anchored(parts, options.terms, inputs, signals, wrong)
    if stress is not None:
        stressed = observe(stress, inputs, replace(signals, health=None))
        return fit_stress(score, stress, stressed, parts)
    if development is None:
        return score
    return fit_anchored_weights(score, development, (stream, parts), inputs, signals)


def _fit_novelty(observed: Observed, inputs: InputSettings) -> tuple[NoveltyTerm, ...]:
    """Fit the decision's novelty: how much of it the features have depends on what they tell."""
    parts, features = observed.parts, observed.features
    if inputs.classes == 0:
        return fit_output_novelty(parts)
    if features is None:
        return fit_novelty_terms(parts, tells_unknown=0.5)
    lengths = [len(part.label) for part in parts]
    return fit_novelty_terms(parts, unknown_class_auroc(features, observed.classes, lengths))


def _fit_threshold(
    levels: NDArray[np.int64], novelty_limit: float | None, options: FitOptions
) -> ThresholdSettings:
    """Set start and anchor to the lowest level that at most alpha of the steps reach.

    What unusual steps may ask for is taken from alpha.
    """
    ordered = np.sort(levels)
    alpha = options.alpha * (1 - (0.0 if novelty_limit is None else options.unusual))
    alpha_q16 = max(1, math.floor(alpha * (1 << ALPHA_BITS)))
    allowed = len(ordered) * alpha_q16 >> ALPHA_BITS
    anchor = int(min(ordered[len(ordered) - allowed - 1] + 1, RISK_LEVELS))
    paper = options.paper
    step = round(paper.ledger_step * RISK_LEVELS)
    return ThresholdSettings(
        paper.mode, alpha_q16, step, anchor, anchor, paper.warmup, novelty_limit
    )


def _stream_info(stream: Stream) -> StreamInfo:
    return StreamInfo(
        sha256=stream.sha256,
        steps=len(stream),
        recordings=len(stream.starts),
        distinct=stream.distinct,
        labelled=0 if stream.labels is None else int((stream.labels != UNKNOWN).sum()),
    )


def _figures(alarm: AlarmFit | None, threshold: ThresholdSettings) -> dict[str, float]:
    figures = {"threshold.anchor_risk": threshold.anchor / RISK_LEVELS}
    if alarm is None:
        return figures
    settings, rehearsal = alarm.settings, alarm.rehearsal
    figures["alarm.expected_steps_between_false_alarms"] = float(settings.steps_per_false_alarm)
    figures["alarm.rehearsed_steps_between_false_alarms"] = rehearsal.supported
    for fitted in alarm.channels:
        channel, name = fitted.channel, fitted.channel.signal
        figures[f"{name}.autocorrelation_time_steps"] = fitted.autocorrelation_time
        figures[f"{name}.block_steps"] = channel.block
        figures[f"{name}.independent_blocks"] = fitted.independent_blocks
        figures[f"{name}.neighbour_correlation"] = fitted.neighbour_correlation
        figures[f"{name}.fastest_alarm_steps"] = fastest_alarm_steps(settings, channel)
        figures[f"{name}.fastest_alarm_steps_if_4_times_longer"] = fastest_alarm_steps(
            settings, channel, longer=4
        )
    return figures


def _temperature_figure(calibration: Stream) -> dict[str, float]:
    """Return the temperature of the baseline that an evaluation compares with, by labels."""
    if calibration.labels is None or calibration.labelled == 0 or calibration.classes == 0:
        return {}
    rows = logits(calibration.posteriors, calibration.kind)
    return {TEMPERATURE: fit_temperature(rows, calibration.labels)}
