# SPDX-License-Identifier: Apache-2.0
"""The alarm on calibration: the values of its channels, their bets, and the rehearsal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from tcuq.calibrate.bets import ChannelFit, caution, fit_channel
from tcuq.calibrate.observe import Parts
from tcuq.calibrate.rehearsal import Rehearsal, Values, rehearse
from tcuq.options import AlarmOptions
from tcuq.profile.settings import AlarmSettings, ChannelSignal, StreamInfo
from tcuq.stages.alarm import channel_input
from tcuq.stages.score import risk_odds


@dataclass(frozen=True, slots=True)
class AlarmFit:
    """The alarm, the figures of its channels' fits, and what calibration supports."""

    settings: AlarmSettings
    channels: Sequence[ChannelFit]
    rehearsal: Rehearsal


def fit_alarm(
    parts: Parts, levels: NDArray[np.int64], info: StreamInfo, options: AlarmOptions
) -> AlarmFit:
    """Fit the bets of every channel that there is, and rehearse them."""
    values = _channel_values(parts, levels)
    fits = _fit_channels(values, info, options)
    settings = AlarmSettings(
        options.steps_per_false_alarm,
        options.epoch_steps,
        tuple(fitted.channel for fitted in fits),
        caution(info.distinct / info.steps),
    )
    return AlarmFit(settings, fits, _rehearse(settings, values, parts, info))


def _channel_values(
    parts: Parts, levels: NDArray[np.int64]
) -> dict[ChannelSignal, Sequence[Values]]:
    """Return the steps and values that each channel counts, by recording."""
    starts = np.cumsum([0, *(len(part.label) for part in parts)])
    odds = np.split(risk_odds(levels), starts[1:-1])
    absent = {name for name in get_args(ChannelSignal) if getattr(parts[0], name, odds) is None}
    values: dict[ChannelSignal, Sequence[Values]] = {}
    for name in (name for name in get_args(ChannelSignal) if name not in absent):
        counted = [channel_input(*part, name) for part in zip(parts, odds, strict=True)]
        values[name] = [
            (steps + start, each) for start, (steps, each) in zip(starts[:-1], counted, strict=True)
        ]
    return values


def _fit_channels(
    values: Mapping[ChannelSignal, Sequence[Values]], info: StreamInfo, options: AlarmOptions
) -> Sequence[ChannelFit]:
    return [
        fit_channel(
            name,
            [each for _, each in parts],
            channels=len(values),
            block_factor=options.block_factor,
            distinct_share=info.distinct / info.steps,
        )
        for name, parts in values.items()
    ]


def _rehearse(
    alarm: AlarmSettings,
    values: Mapping[ChannelSignal, Sequence[Values]],
    parts: Parts,
    info: StreamInfo,
) -> Rehearsal:
    whole = [
        (np.concatenate([steps for steps, _ in each]), np.concatenate([v for _, v in each]))
        for each in values.values()
    ]
    labels = np.concatenate([part.label for part in parts])
    return rehearse(alarm, whole, labels, info.distinct / info.steps)
