# SPDX-License-Identifier: Apache-2.0
"""Every detector by name and signal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tcuq_benchmark.detectors.baselines import Cusum, adwin, kswin, page_hinkley
from tcuq_benchmark.detectors.detector import SIGNALS, Detector
from tcuq_benchmark.detectors.tcuq_alarm import TcuqAlarm


@dataclass(frozen=True, slots=True)
class DetectorEntry:
    """A detector's constructor; a slow one runs on one calibration and on short streams only."""

    name: str
    signal: str
    make: Callable[[], Detector]
    slow: bool = False


FAST_BASELINES: Mapping[str, Callable[[str], Detector]] = {
    "ADWIN": adwin,
    "Page-Hinkley": page_hinkley,
    "CUSUM": Cusum,
}
OURS = DetectorEntry("ours", "channels", TcuqAlarm)


def _fast(name: str, signal: str) -> DetectorEntry:
    return DetectorEntry(name, signal, lambda: FAST_BASELINES[name](signal))


BASELINES = (
    *(_fast(name, signal) for name in FAST_BASELINES for signal in SIGNALS),
    # It sorts and compares a window at every step.
    DetectorEntry("KSWIN", "max_prob", lambda: kswin("max_prob"), slow=True),
)
