# SPDX-License-Identifier: Apache-2.0
"""Calibration in the device's arithmetic: false alarms by classes, float against device, doctor."""

import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np

import tcuq
import tcuq.reference
from results.result import Row, measure
from tcuq.calibrate import diagnose
from tcuq.errors import CalibrationWarning, FitError
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.scenario_run import run_networks
from tcuq_benchmark.scenarios.tasks import make_scenario

CLASSES = (2, 10, 100, 150, 200, 1000)
STEPS, FRESH_STREAMS, SHORT_FRESH, STEPS_PER_FALSE_ALARM = 20_000, 19, 4, 1 << 14
DWELL, RECORDING, WIDTH, SHARPNESS = 20, 2000, 16, 6.0
TASKS = ("gas", "hapt", "mnist", "fashion_mnist", "watch", "speech", "cifar10")
SHORT_TASKS = ("gas",)  # the one that trains in seconds
AGREE = 0.97
SHUFFLES, SHUFFLED_STEPS = 100, 4000


def synthetic(classes: int, seed: int) -> tcuq.Stream:
    """Return a clean, coherent stream: classes stay for a while, confidence varies."""
    rng = np.random.default_rng([classes, seed])
    centres = 2 * np.random.default_rng(classes).normal(size=(classes, WIDTH))
    turns = np.where(rng.random(STEPS) < 1 / DWELL, np.arange(STEPS), 0)
    labels = rng.integers(0, classes, STEPS)[np.maximum.accumulate(turns)]
    logits = rng.normal(size=(STEPS, classes))
    logits[np.arange(STEPS), labels] += rng.gamma(4, SHARPNESS / 4, STEPS) + np.log(classes) / 2
    features = centres[labels] + rng.normal(size=(STEPS, WIDTH))
    return tcuq.Stream(logits, features, kind="logits", starts=np.arange(0, STEPS, RECORDING))


def class_rows(*, short: bool) -> Iterator[Row]:
    """Yield false alarms on the calibration stream and on fresh ones, by classes."""
    fresh = SHORT_FRESH if short else FRESH_STREAMS
    for classes in CLASSES:
        try:
            profile = tcuq.fit(
                synthetic(classes, 0), alarm=tcuq.AlarmOptions(STEPS_PER_FALSE_ALARM)
            )
        except FitError as error:
            yield Row(f"{classes:,} classes, false alarms", "within, or refused", str(error), None)
            continue
        counts = [
            int((tcuq.Monitor(profile).run(synthetic(classes, seed)).alarm > 0).sum())
            for seed in range(1 + fresh)
        ]
        allowed = (1 + fresh) * STEPS / STEPS_PER_FALSE_ALARM
        measured = f"{counts[0]} on calibration, {sum(counts[1:])} on {fresh} fresh streams"
        yield Row(
            f"{classes:,} classes, false alarms in {(1 + fresh) * STEPS:,} steps",
            f"at most {allowed:.1f}",
            measured,
            sum(counts) <= allowed,
        )


@cache
def recorded(task: str, name: str) -> tcuq.Stream:
    """Return a network of the benchmark on one of its coherent scenarios."""
    network = load_network(task, "base", 0, train=True)
    scenario = make_scenario(task, name, "coherent", 0)  # type: ignore[arg-type]
    return run_networks(scenario, {"base": network}).stream("base")


def agreement_rows(tasks: tuple[str, ...]) -> Iterator[Row]:
    """Yield the share of equal outcomes of the device and of the float reference."""
    for task in tasks:
        stream = recorded(task, "calibration")
        profile = tcuq.fit(stream)
        device, reference = tcuq.Monitor(profile), tcuq.reference.ReferenceMonitor(profile)
        share = float((device.run(stream).outcome == reference.run(stream).outcome).mean())
        what = f"{task}: equal outcomes of float reference and device"
        yield Row(what, f"≥ {AGREE:.0%}", f"{share:.2%} of {len(stream):,}", share >= AGREE)


def doctor_rows(tasks: tuple[str, ...], *, short: bool) -> Iterator[Row]:
    """Yield how often shuffled streams are diagnosed as such, and recorded ones."""
    shuffles = 10 if short else SHUFFLES
    for task in tasks:
        stream = recorded(task, "calibration")
        part, rng, hits = stream[:SHUFFLED_STEPS], np.random.default_rng(0), 0
        assert part.features is not None  # noqa: S101 - every network has some
        for _ in range(shuffles):
            order = rng.permutation(len(part))
            mixed = tcuq.Stream(part.posteriors[order], part.features[order], kind=part.kind)
            hits += diagnose(mixed)[0].name == "shuffled"
        in_order = [finding.name for finding in diagnose(stream)]
        yield Row(
            f"{task}: shuffled calibration named first",
            f"≥ {0.99 * shuffles:.0f} of {shuffles}, and never in order",
            f"{hits} of {shuffles}; {'named' if 'shuffled' in in_order else 'not named'} in order",
            hits >= 0.99 * shuffles and "shuffled" not in in_order,
        )


def rows(short: bool) -> Iterator[Row]:
    """Yield false alarms by classes, agreement with the float reference, and diagnoses."""
    warnings.simplefilter("ignore", CalibrationWarning)
    tasks = SHORT_TASKS if short else TASKS
    yield from class_rows(short=short)
    yield from agreement_rows(tasks)
    yield from doctor_rows(tasks, short=short)


if __name__ == "__main__":
    measure("calibration", rows, ("scikit-learn", "torch"))
