# SPDX-License-Identifier: Apache-2.0
"""The device's numbers of signals, and their units."""

import math
from typing import get_args

from tcuq.profile.settings import ChannelSignal, Signal

# The device numbers them in this order; without classes, departure has low confidence's number.
SIGNALS: tuple[Signal, ...] = get_args(Signal)[:-1]
CHANNEL_SIGNALS: tuple[Signal | ChannelSignal, ...] = (*SIGNALS, "risk", "health")
LOGARITHMS = frozenset(
    {"low_confidence", "departure", "novelty", "contradiction", "risk", "health"}
)
MAX_SLOPE_Q8 = 65_535


def signal_number(signal: Signal) -> int:
    """Return the device's number of a signal."""
    return SIGNALS.index("low_confidence" if signal == "departure" else signal)


def signal_unit(signal: Signal | ChannelSignal) -> float:
    """Return one integer step of the device's signal in float units."""
    return 1 / signal_scale(signal, summed=True)


def signal_scale(signal: Signal | ChannelSignal, *, summed: bool) -> float:
    """Return device units per float unit: Q10 of log2 for logarithms, else Q14, Q15 if summed."""
    if signal in LOGARITHMS:
        return 1024 / math.log(2)
    return 32768.0 if summed else 16384.0


def steepest_slope(signal: Signal) -> float:
    """Return the most bits per float unit that a term's slope can hold."""
    return MAX_SLOPE_Q8 / 256 / 1024 * signal_scale(signal, summed=False)
