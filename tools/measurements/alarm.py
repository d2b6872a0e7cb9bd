# SPDX-License-Identifier: Apache-2.0
"""The alarm's promise on a million in-distribution steps, and its delays beside river's."""

import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from river.drift import ADWIN, PageHinkley
from scipy.stats import chi2

import tcuq
from tcuq.decision import Trace, joined_traces
from tcuq.demo import FAULTS, demo_stream
from tcuq.evaluate.measures import detection_delays
from tcuq.stream import Stream
from tools.measurements.long_streams import joined, looped, recordings
from tools.measurements.result import Row, arguments, report

LEVELS = (14, 17, 20)
PEERS: dict[str, Callable[[], object]] = {"ADWIN": ADWIN, "Page-Hinkley": PageHinkley}


def fitted(parts: Sequence[Stream], h: int = 20) -> tcuq.Profile:
    """A recommended profile of these recordings, its warnings kept in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.CalibrationWarning)
        return tcuq.fit(joined(parts), steps_per_false_alarm=1 << h)


def false_alarms(
    calibration: Sequence[Stream], held_out: Sequence[Stream], steps: int, seed: int
) -> tuple[int, dict[int, int]]:
    """Steps run and alarms raised, by h, on a looped in-distribution stream."""
    monitors = {h: tcuq.Monitor(fitted(calibration, h=h)) for h in LEVELS}
    counts, run = dict.fromkeys(LEVELS, 0), 0
    for part in looped(held_out, steps, np.random.default_rng(seed)):
        run += len(part)
        for h, monitor in monitors.items():
            trace = monitor.run(part.posteriors, part.features, starts=[0])
            counts[h] += int((trace.alarm > 0).sum())
    return run, counts


def peer_alarms(risk: np.ndarray, make: Callable[[], object]) -> np.ndarray:
    """Where a river detector, fed the same risk, says drift."""
    detector, alarms = make(), np.zeros(len(risk), np.bool_)
    for step, value in enumerate(risk.tolist()):
        detector.update(value)  # type: ignore[attr-defined]
        alarms[step] = detector.drift_detected  # type: ignore[attr-defined]
    return alarms


def upper_bound(count: int) -> float:
    """The 95 % Poisson upper bound."""
    return float(chi2.ppf(0.975, 2 * count + 2) / 2)


def promise_rows(steps: int) -> list[Row]:
    """Other people than calibration's, looped with noise."""
    run, counts = false_alarms(recordings("calibration"), recordings("test"), steps, seed=0)
    return [
        Row(
            f"false alarms at h = {h}, {run:,} in-distribution steps of people not calibrated on",
            f"≤ {run / 2**h:.2f}",
            f"{count} (95 % bound {upper_bound(count):.1f})",
            count <= run / 2**h,
        )
        for h, count in counts.items()
    ]


def few_people_row(steps: int) -> Row:
    """Where we lose: calibrated on five people, judged on five others, eight times."""
    people = recordings("calibration")
    pairs = [people[i : i + 2] for i in range(0, len(people), 2)]
    rng = np.random.default_rng(0)
    total, run = dict.fromkeys(LEVELS, 0), 0
    for turn in range(8):
        order = rng.permutation(len(pairs))
        known = [part for i in order[:5] for part in pairs[i]]
        others = [part for i in order[5:] for part in pairs[i]]
        done, counts = false_alarms(known, others, steps // 8, seed=turn)
        run += done
        for h, count in counts.items():
            total[h] += count
    return Row(
        f"the same, calibrated on only five people (3,000 steps), {run:,} steps, h = 14 / 17 / 20",
        " / ".join(f"{run / 2**h:.1f}" for h in LEVELS) + " would be allowed",
        " / ".join(str(total[h]) for h in LEVELS),
        None,
    )


def delay_rows(looped_steps: int) -> list[Row]:
    """Delay by fault, and what each detector's false alarms would be, on the same streams."""
    profile = fitted(recordings("calibration"))
    calm = [
        tcuq.Monitor(profile).run(part.posteriors, part.features).risk
        for part in looped(recordings("test"), looped_steps, np.random.default_rng(1))
    ]
    rows = []
    for name, make in PEERS.items():
        count = int(peer_alarms(np.concatenate(calm), make).sum())
        rate = 1e6 * count / sum(map(len, calm))
        rows.append(
            Row(f"{name} on the risk: false alarms per million steps", "–", f"{rate:.0f}", None)
        )
    for fault in FAULTS:
        stream = demo_stream(f"fault_{fault}")
        trace = run_with_resets(profile, stream)
        assert stream.shifted is not None  # noqa: S101 - faults are marked
        alarms = {"tcuq": trace.alarm > 0} | {
            n: peer_alarms(trace.risk, m) for n, m in PEERS.items()
        }
        delays = ", ".join(f"{n} {_delays(a, stream.shifted)}" for n, a in alarms.items())
        rows.append(Row(f"delay of fault {fault}, its two onsets, in steps", "–", delays, None))
    return rows


def run_with_resets(profile: tcuq.Profile, stream: Stream) -> Trace:
    """Run, and reset the monitor where a shift ends with its recording, as after a repair."""
    assert stream.shifted is not None  # noqa: S101 - faults are marked
    begins = stream.starts[1:]
    repaired = begins[stream.shifted[begins - 1] & ~stream.shifted[begins]]
    parts = pairwise([0, *repaired.tolist(), len(stream)])
    return joined_traces([tcuq.Monitor(profile).run(stream[a:b]) for a, b in parts])


def _delays(alarm: np.ndarray, shifted: np.ndarray) -> str:
    delays = detection_delays(alarm, shifted)
    return " and ".join("missed" if np.isinf(d) else f"{d:.0f}" for d in delays)


def main() -> None:
    """Measure and report."""
    args = arguments()
    steps = 150_000 if args.short else 1_100_000
    rows = [*promise_rows(steps), *delay_rows(steps // 5)]
    if not args.short:
        rows.append(few_people_row(800_000))
    sys.exit(report("alarm", rows, ("river", "scikit-learn", "scipy"), write=args.write))


if __name__ == "__main__":
    main()
