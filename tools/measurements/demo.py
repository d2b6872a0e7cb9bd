# SPDX-License-Identifier: Apache-2.0
"""The package's demo: its faults and false alarms, beside a tuned ADWIN on the same streams.

`--write` also writes what ADWIN does to the demo's data, which `tcuq demo` prints.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import tcuq
from results.result import DATA, Row, arguments, figure, report, write_json
from tcuq.demo import FAULTS, Baseline, Effect, demo_profile, demo_stream, demonstrate
from tcuq.errors import CalibrationWarning
from tcuq.evaluation.measures import detection_delays
from tcuq.stages.inputs import probabilities
from tcuq.stream import Stream
from tcuq_benchmark.detectors.baselines import adwin
from tcuq_benchmark.detectors.detector import signal_input
from tools.measurements.long_streams import shuffled_turns

LEVELS = (14, 17, 20)
COSTLY = 0.1  # loss of accuracy from which a fault must be caught
MOST_DELAY = 120
# -log10 of delta.
LIMITS = (0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)
COMMAND = "python -m tools.measurements.demo --write"

Floats = NDArray[np.float64]
Signal = Callable[[Stream], Floats]


def fitted(h: int) -> tcuq.Profile:
    """Return a recommended profile of the calibration stream, its warnings kept in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return tcuq.fit(demo_stream("calibration"), alarm=tcuq.AlarmOptions(1 << h))


def false_alarms(monitor: tcuq.Monitor, steps: int, seed: int = 0) -> tuple[int, int]:
    """Return the steps run and the alarms raised on the test speakers' clean turns."""
    run = count = 0
    for part in shuffled_turns("test", steps, np.random.default_rng(seed)):
        run += len(part)
        count += len(monitor.run(part).alarms)
    return run, count


def promise_rows(steps: int) -> list[Row]:
    """Return false alarms at three rates, on people other than calibration's."""
    rows = []
    for h in LEVELS:
        run, count = false_alarms(tcuq.Monitor(fitted(h)), steps)
        bound = float(chi2.ppf(0.975, 2 * count + 2) / 2)
        rows.append(
            Row(
                f"false alarms at h = {h}, {run:,} clean steps of people not calibrated on",
                f"≤ {run / 2**h:.2f}",
                f"{count} (95 % bound {bound:.1f})",
                count <= run / 2**h,
            )
        )
    return rows


def demo_rows() -> Iterator[Row]:
    """Yield what the demo must show, and each fault."""
    demonstration = demonstrate()
    onsets = [onset for effect in demonstration.effects for onset in effect.onsets]
    delays = [np.inf if onset.delay_steps is None else onset.delay_steps for onset in onsets]
    costly = [e for e in demonstration.effects if e.accuracy_clean - e.accuracy > COSTLY]
    unseen = [e.fault for e in costly if any(onset.delay_steps is None for onset in e.onsets)]
    false = len(demonstration.test.alarms)
    median = float(np.median(delays))
    yield Row(
        f"the demo's {len(onsets)} onsets of {len(FAULTS)} faults, one false alarm in 2^20",
        f"faults that cost > 10 points caught, median delay ≤ {MOST_DELAY} steps, no false alarm",
        f"{len(costly) - len(unseen)} of {len(costly)} costly faults,"
        f" {np.isfinite(delays).sum()} onsets caught, median {median:.0f} steps,"
        f" {false} false alarms",
        len(onsets) >= 12 and not unseen and median <= MOST_DELAY and not false,
    )
    yield from (Row(*_described(effect), None) for effect in demonstration.effects)
    again = [effect.left_running[1].delay_steps for effect in demonstration.effects]
    yield figure(
        "second onsets with the monitor left running after the first fault, delays in steps",
        ", ".join("unseen" if delay is None else str(delay) for delay in again),
    )


def _described(effect: Effect) -> tuple[str, str, str]:
    alarms = [
        "unseen" if o.delay_steps is None else f"{o.delay_steps} ({o.cause})" for o in effect.onsets
    ]
    return (
        f"demo fault {effect.fault}, delays of its onsets in steps",
        "–",
        f"accuracy {effect.accuracy_clean:.1%} to {effect.accuracy:.1%}: {', '.join(alarms)}",
    )


def confidence(stream: Stream) -> Floats:
    """Return the network's largest probability."""
    rows: Floats = probabilities(stream.posteriors, stream.kind).max(axis=1)
    return rows


def risk(stream: Stream) -> Floats:
    """Return the monitor's own risk."""
    return tcuq.Monitor(demo_profile()).run(stream).risk


SIGNALS: dict[str, Signal] = {"the confidence": confidence, "tcuq's risk": risk}


def adwin_alarms(values: Floats, limit: float) -> NDArray[np.bool_]:
    """Return where ADWIN with delta = 10^-limit detects drift."""
    return adwin("values").alarms(signal_input("values", values), limit)


@dataclass(frozen=True)
class Tuned:
    """ADWIN at one limit: its delays at the onsets, and false alarms per million clean steps."""

    name: str
    limit: float
    delays: Floats
    false_alarms: float


def tuned(name: str, signal: Signal, calm: Sequence[Stream], allowed: float) -> tuple[Tuned, Tuned]:
    """Return ADWIN with a limit tuned on calibration, then with the best limit in hindsight.

    The first is the lowest limit without an alarm on the calibration stream, the second the lowest
    with at most the allowed false alarms per million clean steps of the test speakers.
    """
    calibration = signal(demo_stream("calibration"))
    clean = np.concatenate([signal(part) for part in calm])

    def at(limit: float) -> Tuned:
        delays = []
        for part in (p for fault in FAULTS for p in demo_stream(f"fault_{fault}").recordings()):
            assert part.shifted is not None  # noqa: S101 - faults are marked
            delays.append(detection_delays(adwin_alarms(signal(part), limit), part.shifted))
        return Tuned(name, limit, np.concatenate(delays), rate(limit))

    def rate(limit: float) -> float:
        return 1e6 * float(adwin_alarms(clean, limit).mean())

    silent = next(limit for limit in LIMITS if not adwin_alarms(calibration, limit).any())
    return at(silent), at(next(limit for limit in LIMITS if rate(limit) <= allowed))


def adwin_rows(pair: tuple[Tuned, Tuned]) -> Iterator[Row]:
    """Yield ADWIN's figures at both limits."""
    for detection, how in zip(
        pair, ("silent on calibration", "the best in hindsight"), strict=True
    ):
        yield figure(
            f"ADWIN on {detection.name}, {how} (delta {10**-detection.limit:.2g})",
            f"{np.isfinite(detection.delays).sum()} of {len(detection.delays)} onsets, median delay"
            f" {np.median(detection.delays):.0f} steps,"
            f" {detection.false_alarms:.0f} false alarms per million steps",
        )


def baseline(pair: tuple[Tuned, Tuned], ours: float) -> Baseline:
    """Return the figures that `tcuq demo` prints of ADWIN, beside ours on the same steps."""
    on_calibration, best = pair
    return Baseline(
        command=COMMAND,
        signal=best.name,
        onsets=len(best.delays),
        caught=int(np.isfinite(best.delays).sum()),
        median_delay_steps=float(np.median(best.delays)),
        false_alarms_per_million=best.false_alarms,
        false_alarms_per_million_tuned_on_calibration=on_calibration.false_alarms,
        tcuq_false_alarms_per_million=ours,
    )


def main() -> None:
    """Measure and report."""
    args = arguments()
    steps = 100_000 if args.short else 1_000_000
    run, count = false_alarms(tcuq.Monitor(demo_profile()), steps)
    ours = 1e6 * count / run
    rows = [*demo_rows(), *promise_rows(steps)]
    calm = list(shuffled_turns("test", steps, np.random.default_rng(0)))
    pairs = [tuned(name, signal, calm, ours) for name, signal in SIGNALS.items()]
    rows += [row for pair in pairs for row in adwin_rows(pair)]
    best = min(pairs, key=lambda pair: float(np.median(pair[1].delays)))
    if args.write:
        write_json(DATA / "adwin.json", asdict(baseline(best, ours)))
    sys.exit(report("demo", rows, ("river", "scikit-learn", "scipy"), write=args.write))


if __name__ == "__main__":
    main()
