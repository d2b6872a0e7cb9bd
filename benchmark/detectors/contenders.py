# SPDX-License-Identifier: Apache-2.0
"""Every detector by name and signal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmark.detectors.detector import SIGNALS, Detector
from benchmark.detectors.ours import Ours
from benchmark.detectors.peers import Cusum, adwin, kswin, page_hinkley


@dataclass(frozen=True, slots=True)
class Contender:
    """A detector to be made; a slow one is run on one calibration and on short streams only."""

    name: str
    signal: str
    make: Callable[[], Detector]
    slow: bool = False


PEERS: Mapping[str, Callable[[str], Detector]] = {
    "ADWIN": adwin,
    "Page-Hinkley": page_hinkley,
    "CUSUM": Cusum,
}
OURS = Contender("ours", "channels", Ours)


def _peer(name: str, signal: str) -> Contender:
    return Contender(name, signal, lambda: PEERS[name](signal))


OTHERS = (
    *(_peer(name, signal) for name in PEERS for signal in SIGNALS),
    # It sorts and compares a window at every step.
    Contender("KSWIN", "max_prob", lambda: kswin("max_prob"), slow=True),
)
