# SPDX-License-Identifier: Apache-2.0
"""Prints a hash of the monitor's decisions on the bundled streams: equal on every platform.

Run by path with the library of one platform on the module path and a profile as its argument.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

import tcuq
from tcuq_fleet.simulate.simulator import Simulator

DATA = Path(tcuq.__file__).parent / "data/keywords"
STREAMS = ("test", "fault_clipping", "fault_hum", "fault_dropout")


def main() -> None:
    """Run every stream and print the hash and the number of steps."""
    digest, steps = hashlib.sha256(), 0
    monitor = tcuq.Monitor(sys.argv[1])
    for name in STREAMS:
        stream = tcuq.Stream.load(DATA / f"{name}.npz")
        trace = monitor.run(stream)
        for column in ("label", "risk", "novelty", "threshold", "outcome", "alarm"):
            digest.update(np.ascontiguousarray(getattr(trace, column)).tobytes())
        steps += len(stream)
    print(digest.hexdigest(), steps, Simulator.__name__)


if __name__ == "__main__":
    main()
