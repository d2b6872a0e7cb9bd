# SPDX-License-Identifier: Apache-2.0
"""What a step of a profile consists of, counted: how often each loop of each stage turns.

Instructions a step are a weighted sum of these; the weights are measured, by CPU and stage, by
tools/measurements/footprint.py.
"""

import math
from collections.abc import Mapping
from typing import Any

Spec = Mapping[str, Any]
Work = dict[str, dict[str, float]]


def step_work(spec: Spec, *, telemetry: bool) -> Work:
    """Turns of every loop of a step, by stage and name; loops by fours and what is left apart."""
    return {
        "signals": _posterior_work(spec) | _feature_work(spec),
        "novelty": _novelty_work(spec),
        "score": _score_work(spec),
        "alarm": _alarm_work(spec),
        "rest": {
            "step": 1,
            "anchored": int(bool(spec["terms"])),
            "novelty": int(spec["whitening"] is not None),
            "alarm": int(bool(spec["channels"])),
            "telemetry": int(telemetry),
            "adaptive": int(spec["adaptive"]),
        },
    }


def _posterior_work(spec: Spec) -> dict[str, float]:
    classes, lags = spec["classes"], len(spec["lags"])
    return {
        "step": 1,
        "logarithm": int(bool(spec["terms"] or spec["channels"])),
        "classes": classes,
        "classes by fours": classes // 4,
        "lags": lags,
        "classes · lags": classes * lags,
        "classes by fours · lags": classes // 4 * lags,
        "classes left": int(classes % 4 > 0),
        "classes left · lags": int(classes % 4 > 0) * lags,
    }


def _feature_work(spec: Spec) -> dict[str, float]:
    size, width, past = spec["dimensions"], spec["width"], len(spec["lags"]) - 1
    projected = spec["projection"] is not None
    taken = 0 if projected else size
    at_once = past == 2 and taken > 0 and taken % 4 == 0  # the usual case has a loop of its own
    return {
        "features": taken,
        "features by fours": taken // 4,
        "without features": int(size == 0),
        "products": int(size > 0) * past,
        "features · lags": size * past,
        "features by fours · lags": size // 4 * past,
        "features left": int(taken % 4 > 0),
        "features left · lags": int(size % 4 > 0) * past,
        "three features left · lags": int(size % 4 == 3) * past,
        "three lags at once": int(at_once),
        "features by fours, three lags at once": taken // 4 if at_once else 0,
        "projection": int(projected),
        "projected rows": size if projected else 0,
        "projected products": size * width if projected else 0,
        "projected products by fours": size * (width // 4) if projected else 0,
    }


def _novelty_work(spec: Spec) -> dict[str, float]:
    whitened = spec["whitening"] is not None
    groups = -(-spec["dimensions"] // 4) if whitened else 0
    pairs = spec["mean_count"] // 2 if whitened else 0
    even = groups % 2 == 0  # then the means go by eights, as the features do up to the last few
    left = spec["dimensions"] % 8 if whitened else 0
    return {
        "novelty": int(whitened),
        "groups": groups,
        "features beyond eights": left,
        "groups beyond eights": -(-left // 4),
        "last group": int(left % 4 > 0),
        "whitening blocks": groups * (groups + 1) // 2,
        "mean pairs": pairs,
        "mean pairs · groups": pairs * groups,
        "by eights": int(whitened and even),
        "mean pairs by eights": pairs if even else 0,
        "mean pairs · groups by eights": pairs * groups if even else 0,
    }


def _score_work(spec: Spec) -> dict[str, float]:
    terms = spec["terms"] or ()
    return {
        "step": 1,
        "anchored": int(bool(terms)),
        "terms": len(terms),
        "smoothed terms": sum(1 for term in terms if term["ewma"]),
        "lower terms": sum(1 for term in terms if term["lower"]),
        "searches": sum(math.log2(max(term["point_count"], 1)) for term in terms),
    }


def _alarm_work(spec: Spec) -> dict[str, float]:
    channels = spec["channels"] or ()
    return {
        "alarm": int(bool(channels)),
        "channels": len(channels),
        "two-sided channels": sum(1 for channel in channels if channel["two_sided"]),
        "blocks": sum(1 / channel["block"] for channel in channels),
    }
