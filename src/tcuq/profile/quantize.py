# SPDX-License-Identifier: Apache-2.0
"""Convert settings to the device's integers, for the host's engine and for export.

Formats, ranges and rounding are those of docs/spec/arithmetic.md.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._columns import HEALTH_ONE
from tcuq.errors import ProfileError
from tcuq.profile.settings import (
    MAX_NOVELTY,
    MAX_STAY_CLASSES,
    AlarmFlag,
    AlarmSettings,
    Channel,
    HealthSettings,
    InputSettings,
    MonitorSettings,
    NoveltySettings,
    NoveltyTerm,
    ScoreSettings,
    SignalSettings,
    TcuqScoreSettings,
    Term,
)
from tcuq.profile.signal_units import (
    CHANNEL_SIGNALS,
    MAX_SLOPE_Q8,
    SIGNALS,
    signal_number,
    signal_scale,
)

NO_CLASSES = (1 << 16) - 1  # in place of the blend in doubt
MAX_LEDGER_STEP = 8192
WHITENED_MAX = 4095
MAX_WEIGHT, WEIGHT_OFFSET = 63, 64
NO_NOVELTY_LIMIT = (1 << 16) - 1

# A paper's score of weight 0 and an open threshold: for an engine that computes signals alone.
NO_DECISION: Mapping[str, Any] = MappingProxyType(
    {
        "hash": 0, "terms": None, "weights": bytes(8), "weight_shift": 5, "bias_q16": 0,
        "error_bias_q16": 0, "mix_q15": 0, "novelty_limit_q10": NO_NOVELTY_LIMIT,
        "withhold_denied": 0, "adaptive": 0, "alpha_q16": 1, "step": 1, "start": 0, "anchor": 0,
        "warmup": 0, "rate_q16": 0, "burst_q16": 1 << 16, "channels": None, "alarm_limit": 0,
        "epoch_steps": 0,
    }
)  # fmt: skip

Floats = NDArray[np.float64]


def quantize(settings: MonitorSettings) -> dict[str, Any]:
    """Return the runtime's profile: integers, and arrays as little-endian bytes."""
    form = _device_form(settings)
    return {"hash": int(_digest(form, settings.inputs)[:8], 16), **form}


def digest(settings: MonitorSettings) -> str:
    """Return the SHA-256 of the device's form and of how its inputs are quantised."""
    return _digest(_device_form(settings), settings.inputs)


def _digest(form: Mapping[str, Any], inputs: InputSettings) -> str:
    content = {**form, "kind": inputs.kind, "feature_scale": inputs.feature_scale}
    if inputs.selection is None:
        del content["selection"]  # not hashed where there is none
    if inputs.outputs is not None:
        content |= asdict(inputs.outputs)
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), default=bytes.hex)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _device_form(settings: MonitorSettings) -> dict[str, Any]:
    threshold, budget = settings.threshold, settings.budget
    if threshold.step > MAX_LEDGER_STEP:
        raise ProfileError(
            f"threshold.step must be at most {MAX_LEDGER_STEP} on a device, got {threshold.step}"
        )
    signals = settings.signals
    if not _uses_novelty(settings):
        signals = replace(signals, novelty=None)
    if settings.alarm is None:  # nothing else reads input health
        signals = replace(signals, health=None)
    return {
        **quantize_signals(settings.inputs, signals),
        **_score_and_novelty(settings),
        "novelty_limit_q10": _novelty_limit(threshold.novelty_limit),
        "withhold_denied": int(budget.denied == "withhold"),
        "adaptive": int(threshold.mode == "adaptive"),
        "alpha_q16": threshold.alpha_q16,
        "step": threshold.step,
        "start": threshold.start,
        "anchor": threshold.anchor,
        "warmup": threshold.warmup,
        "rate_q16": budget.rate_q16,
        "burst_q16": budget.burst_q16,
        **_alarm(settings.alarm),
    }


def quantize_signals(inputs: InputSettings, signals: SignalSettings) -> dict[str, Any]:
    """Return the members that inputs and signals read."""
    return {
        "classes": inputs.columns,
        "width": inputs.width,
        "dimensions": inputs.dimensions,
        "lags": _bytes(signals.lags, "u1"),
        "lag_weights_q15": _bytes(_lag_weights(signals.lags), "<u2"),
        "blend_q15": NO_CLASSES if inputs.outputs else round(signals.blend * 32768),
        **_contradiction(inputs.columns, signals.stickiness),
        **_projection(inputs),
        "selection": None if inputs.selection is None else _bytes(inputs.selection, "u1"),
        **_novelty(signals.novelty, inputs),
        **_health(signals.health),
    }


def _novelty_limit(limit: float | None) -> int:
    return NO_NOVELTY_LIMIT if limit is None else math.ceil(limit * 1024)


def _contradiction(classes: int, stickiness: float) -> dict[str, int]:
    """Return how much more probable classes are after a step that showed one, in 1/256."""
    others = classes / (classes - 2) if classes > 2 else 0.0
    return {
        "stay_q8": round(256 * stickiness * min(classes, MAX_STAY_CLASSES)),
        "rest_q8": round(256 * stickiness * others),
        "change_q8": round(256 * (1 - stickiness)),
    }


def _uses_novelty(settings: MonitorSettings) -> bool:
    """Tell whether anything reads the signal novelty: else the device need not compute it."""
    readers: list[Term | NoveltyTerm | Channel] = [*settings.novelty]
    if not isinstance(settings.score, TcuqScoreSettings):
        readers += settings.score.terms
    if settings.alarm is not None:
        readers += settings.alarm.channels
    return any(reader.signal == "novelty" for reader in readers)


def _bytes(values: Any, dtype: str) -> bytes:  # noqa: ANN401 - any array of numbers
    array = np.asarray(values)
    return np.ascontiguousarray(array).astype(dtype).tobytes()


def _lag_weights(lags: tuple[int, ...]) -> list[int]:
    """Return, per number of lags with a past, weights proportional to 1/lag that sum to 2^15."""
    rows: list[int] = []
    for count in range(1, len(lags) + 1):
        share = [1 / lag for lag in lags[:count]]
        row = [math.floor(32768 * s / sum(share)) for s in share]
        row[0] += 32768 - sum(row)
        rows += row
    return rows


def _projection(inputs: InputSettings) -> dict[str, Any]:
    projection = inputs.projection
    if projection is None or inputs.feature_scale is None:
        return {"projection": None, "projection_bias": None, "projection_shift": 0}
    matrix = np.array(projection.matrix) / projection.scale
    weights = matrix * inputs.feature_scale
    shift = _fitting_shift(float(np.abs(weights).max()), 127, 0, 22, "inputs.projection.matrix")
    offset = -matrix @ np.array(projection.mean)
    bias = np.rint((offset + 0.5) * 2**shift)  # the half makes rounding down rounding
    return {
        "projection": _bytes(np.rint(weights * 2**shift), "i1"),
        "projection_bias": _bytes(np.clip(bias, -(2**29), 2**29), "<i4"),
        "projection_shift": shift,
    }


def projected_int8(quantised: NDArray[np.int8], inputs: InputSettings) -> Floats:
    """Return the features that the device's signals see of these int8 features, in float units."""
    if inputs.selection is not None:
        quantised = quantised[:, inputs.selection]
    if inputs.projection is None or inputs.feature_scale is None:
        return quantised.astype(np.float64) * (inputs.feature_scale or 1.0)
    form = _projection(inputs)
    weights = np.frombuffer(form["projection"], np.int8).reshape(-1, inputs.width)
    sums = quantised.astype(np.float64) @ weights.T.astype(np.float64)  # exact: below 2^53
    sums += np.frombuffer(form["projection_bias"], "<i4")
    narrowed = np.floor(sums / 2 ** form["projection_shift"])
    projected: Floats = np.clip(narrowed, -127, 127) * inputs.projection.scale
    return projected


def _novelty(novelty: NoveltySettings | None, inputs: InputSettings) -> dict[str, Any]:
    if novelty is None or inputs.feature_scale is None:
        absent = ("whitening", "whitening_shift", "means", "mean_squares")
        return {**dict.fromkeys(absent), "mean_count": 0, "novelty_exponent": 0}
    projection = inputs.projection
    scale = inputs.feature_scale if projection is None else projection.scale
    whitening, means = np.array(novelty.whitening), np.array(novelty.means)
    farthest = float(np.abs(means @ whitening.T).max())
    # Range of 16 standard deviations beyond the farthest mean, in at most 1/256 of one.
    most = (float(np.abs(whitening).max()) * scale, MAX_WEIGHT), (farthest + 16, WHITENED_MAX)
    name = "signals.novelty.whitening"
    exponent = min(8, *(_fitting_shift(size, limit, 0, 8, name) for size, limit in most))
    weights = 2.0**exponent * scale * whitening
    shifts = [_fitting_shift(float(np.abs(row).max()), MAX_WEIGHT, 0, 30, name) for row in weights]
    powers = np.exp2(np.array(shifts))[:, None]
    quantised = _rounded(weights * powers, whitening)
    if np.triu(quantised, 1).any():
        raise ProfileError(f"{name} must be lower triangular on a device")
    # Means go through the quantised matrix, less the half that rounding down takes from a step.
    whitened = (means / scale) @ (quantised / powers).T
    centres = np.clip(_whole(whitened - 0.5), -WHITENED_MAX, WHITENED_MAX)
    centres = np.pad(centres, ((0, len(centres) % 2), (0, -len(whitening) % 4)), "edge")
    centres[:, len(whitening) :] = 0
    return {
        "whitening": _bytes(_packed_rows(quantised), "<u4"),
        "whitening_shift": _bytes(np.pad(shifts, (0, -len(shifts) % 4)), "u1"),
        "means": _bytes(centres, "<i2"),
        "mean_squares": _bytes((centres * centres).sum(axis=1), "<i4"),
        "mean_count": len(centres),
        "novelty_exponent": 2 * exponent,
    }


def _health(health: HealthSettings | None) -> dict[str, Any]:
    if health is None:
        return {"health_count": 0, "health_means": None, "health_weights_q9": None}
    return {
        "health_count": len(health.names),
        "health_means": _bytes(health_integers(np.array(health.means)), "<i2"),
        "health_weights_q9": _bytes(np.rint(512 / np.array(health.scales)), "<u2"),
    }


def health_integers(values: Floats) -> NDArray[np.int16]:
    """Return statistics of input health as the device's integers, Q10."""
    return np.clip(np.rint(values * HEALTH_ONE), -32768, 32767).astype(np.int16)


def _whole(values: Floats) -> Floats:
    """Round to integers; what one CPU's library puts below a half and another's above is a half."""
    return np.rint(np.round(values, 9))


def _rounded(weights: Floats, whitening: Floats) -> Floats:
    """Round to integers, carrying each column's error into the columns it correlates with."""
    rounded, left = np.zeros_like(weights), weights.copy()
    carried = np.zeros_like(weights)
    if np.diag(whitening).all():
        with np.errstate(all="ignore"):
            deviations = np.linalg.inv(np.tril(whitening))  # the covariance's lower triangular root
            carried = np.nan_to_num(deviations / np.diag(deviations), posinf=0, neginf=0)
    for column in reversed(range(len(weights))):
        rounded[:, column] = np.clip(_whole(left[:, column]), -MAX_WEIGHT, MAX_WEIGHT)
        error = weights[:, column] - rounded[:, column]
        left[:, :column] += np.outer(error, carried[column, :column])
    return np.tril(rounded)


def _packed_rows(matrix: Floats) -> list[int]:
    """Pack a lower triangle into words, in blocks of four rows and columns to the diagonal.

    Four weights are two words, columns (0, 2) and (1, 3), the first of each plus WEIGHT_OFFSET.
    """
    size = len(matrix)
    square = np.pad(matrix, (0, -size % 4)).astype(np.int64)
    words = []
    for top in range(0, size, 4):
        for left in range(0, top + 4, 4):
            block = square[top : top + 4, left : left + 4]
            pair = block[:, :2] + WEIGHT_OFFSET + ((block[:, 2:] & 0xFFFF) << 16)
            words += pair.ravel().tolist()
    return words


def _fitting_shift(most: float, limit: int, low: int, high: int, name: str) -> int:
    """Return the largest power of two that keeps a magnitude within a limit."""
    shift = high if most == 0 else math.floor(math.log2(limit / most))
    if shift < low:
        raise ProfileError(f"{name} is too large for the device's integers: {most:.3g}")
    return min(shift, high)


def quantize_score(score: ScoreSettings) -> dict[str, Any]:
    """Return the members that the score reads."""
    bias = {"bias_q16": _bias(score.bias), "error_bias_q16": 0}
    if not isinstance(score, TcuqScoreSettings):
        bias["error_bias_q16"] = _bias(score.error_bias)
        terms = [_term(term) for term in score.terms]
        return {"terms": terms, "weights": bytes(8), "weight_shift": 0, **bias, "mix_q15": 0}
    weights = np.array([getattr(score.weights, name) or 0.0 for name in SIGNALS[:4]])
    shift = _fitting_shift(float(np.abs(weights).max()), 32767, 5, 16, "score.weights")
    return {
        "terms": None,
        "weights": _bytes(np.rint(weights * 2**shift), "<i2"),
        "weight_shift": shift,
        **bias,
        "mix_q15": round(score.mix * 32768),
    }


def _bias(bias: float) -> int:
    """Return it clipped to the device's integers, far beyond the sigmoid's ends."""
    return round(min(max(bias, -8000.0), 8000.0) * 65536)


def _score_and_novelty(settings: MonitorSettings) -> dict[str, Any]:
    """Return the score's members; its terms, and those that novelty needs besides."""
    form = quantize_score(settings.score)
    terms: list[dict[str, Any]] = form["terms"] or []
    for novelty in settings.novelty:
        whole = _term(novelty.as_term())
        table = {name: whole[name] for name in ("points", "point_count", "bits_q10", "slope_q8")}
        place = _place_of_table(settings.score, novelty, table)
        if place is None:
            terms.append(whole)
        terms[-1 if place is None else place] |= {**table, "novelty_q8": round(novelty.share * 256)}
    return {**form, "terms": terms or None}


def _place_of_table(
    score: ScoreSettings, novelty: NoveltyTerm, table: Mapping[str, Any]
) -> int | None:
    """Return the term of the score with the same table, which the device then reads once."""
    if isinstance(score, TcuqScoreSettings):
        return None
    for place, term in enumerate(score.terms):
        if (term.signal, term.ewma) == (novelty.signal, None):
            same = _term(term)
            if all(same[name] == value for name, value in table.items()):
                return place
    return None


def _term(term: Term) -> dict[str, Any]:
    scale = signal_scale(term.signal, summed=False)
    points = np.clip(np.rint(np.array(term.points) * scale), -32768, 32767)
    # Points that coincide keep the bits of the last: a tie keeps its whole mass.
    last = np.append(points[1:] != points[:-1], True)
    points, bits = points[last], np.minimum(np.rint(np.array(term.bits)[last] * 1024), 65535)
    # Beyond 16 bits the score does not change: no points are needed there.
    end = int(np.searchsorted(bits, 1024 * MAX_NOVELTY)) + 1
    points, bits = points[:end], bits[:end]
    return {
        "signal": signal_number(term.signal),
        "ewma": term.ewma or 0,
        "point_count": len(points),
        "dead_q10": round(term.dead * 1024),
        "cap_q10": round(term.cap * 1024),
        "weight_q8": round(term.weight * 256),
        "error_q8": round(term.error_weight * 256),
        "novelty_q8": 0,
        "slope_q8": min(MAX_SLOPE_Q8, round(term.slope / scale * 1024 * 256)),
        "start_q10": round(term.start * 1024),
        "points": _bytes(points, "<i2"),
        "bits_q10": _bytes(bits, "<u2"),
    }


def _alarm(alarm: AlarmSettings | None) -> dict[str, Any]:
    if alarm is None:
        return {"channels": None, "alarm_limit": 0, "epoch_steps": 0}
    return {
        "channels": [_channel(channel, alarm.boot_limit_q8(channel)) for channel in alarm.channels],
        "alarm_limit": alarm.limit,
        "epoch_steps": alarm.epoch_steps,
    }


def _channel(channel: Channel, boot_limit_q8: int) -> dict[str, Any]:
    scale = signal_scale(channel.signal, summed=True) * channel.block
    bound = 2**30
    return {
        "signal": CHANNEL_SIGNALS.index(channel.signal),
        "flag": AlarmFlag.of(channel.signal).value,
        "two_sided": int(channel.centre is not None),
        "block": channel.block,
        "boot_limit_q8": boot_limit_q8,
        "centre": round((channel.centre or 0.0) * scale),
        "edges": [round(min(max(edge * scale, -bound), bound)) for edge in channel.edges],
        "gains_q8": list(channel.gains_q8),
        "counts": [channel.chances, *channel.passes[0], *channel.passes[1]],
    }
