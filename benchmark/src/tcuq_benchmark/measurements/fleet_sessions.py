# SPDX-License-Identifier: Apache-2.0
"""False discoveries among healthy devices: each is one recording session of a person.

In each random fleet ten sessions calibrate one profile and eight sessions of eight other people are
judged by e-BH, with the session as one epoch and with the session repeated for a whole epoch.
The networks were trained on none of these people.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

import tcuq
from results.result import Row, measure
from tcuq_benchmark.detectors.pools import SamplePool
from tcuq_benchmark.detectors.recording_pool import RecordingPool
from tcuq_benchmark.measurements.alarm_cases import (
    LIBRARIES,
    fitted,
    log,
    pool_of,
    provenance,
    trained,
)
from tcuq_benchmark.measurements.alarm_hapt import with_health
from tcuq_benchmark.networks.zoo import load_network
from tcuq_fleet.judge.ebh import discover
from tcuq_fleet.judge.evidence import Q8_PER_HALF_BIT, judged_q8

Array = NDArray[Any]

LEVEL = 0.1
CALIBRATED, JUDGED = 10, 8  # sessions; people
FLEETS, LONG_FLEETS = 40, 14  # of each network; the latter with a whole epoch too
SPEAKER_STEPS = 300  # of a session of one speaker, about as long as one of HAPT
SHORT_FLEETS = 8
SETS = {"hapt": ("hapt", "hapt+health"), "speech": ("speech",)}


@dataclass(frozen=True, eq=False)
class Sessions:
    """Sessions by number: their people, and a session as recorded or for so many steps."""

    person: Array
    stream: Callable[[int, int | None], tcuq.Stream]

    def calibration(self, numbers: Sequence[int]) -> tcuq.Stream:
        """Return sessions one after the other."""
        return joined([self.stream(number, None) for number in numbers])


@dataclass(frozen=True, slots=True)
class Fleet:
    """The judged people of a fleet, and bits of their sessions; of whole epochs, if run."""

    people: Array
    session: Array
    epoch: Array | None


def sessions_of(name: str, network: int) -> Sessions:
    """Return the sessions of a set and the outputs of one network on them."""
    task, _, health = name.partition("+")
    pool = pool_of(task, network)
    if isinstance(pool, RecordingPool):
        return recorded(pool, health=bool(health))
    assert isinstance(pool, SamplePool)  # noqa: S101 - the others have samples
    return spoken(pool)


def recorded(pool: RecordingPool, *, health: bool) -> Sessions:
    """Return HAPT's recordings, repeated for longer streams."""

    def stream(number: int, steps: int | None) -> tcuq.Stream:
        numbers = np.array([number])
        once = pool.calibration(numbers, 0, 0)
        once = with_health(once, numbers) if health else once
        repeats = 1 if steps is None else -(-steps // len(once))
        return joined([once] * repeats)[:steps]

    return Sessions(pool.person, stream)


def spoken(pool: SamplePool) -> Sessions:
    """Return one session per speaker: a coherent stream of the speaker's own clips."""
    speakers = np.unique(pool.samples.group)

    def stream(number: int, steps: int | None) -> tcuq.Stream:
        rows = np.flatnonzero(pool.samples.group == speakers[number])
        return pool.in_distribution(rows, SPEAKER_STEPS if steps is None else steps, number)

    return Sessions(speakers, stream)


def joined(streams: Sequence[tcuq.Stream]) -> tcuq.Stream:
    """Return streams one after the other; each is a recording."""
    first = streams[0]
    lengths = [len(stream) for stream in streams]
    more: dict[str, Any] = {}
    if first.health is not None:
        parts = [stream.health for stream in streams if stream.health is not None]
        more = {"health": np.concatenate(parts), "health_names": first.health_names}
    return tcuq.Stream(
        np.concatenate([stream.posteriors for stream in streams]),
        np.concatenate([s.features for s in streams if s.features is not None]),
        kind=first.kind,
        starts=np.cumsum([0, *lengths[:-1]]),
        **more,
    )


def fleet(sessions: Sessions, rng: np.random.Generator, *, whole: bool) -> Fleet:
    """Calibrate and judge one random fleet."""
    people = rng.permutation(np.unique(sessions.person))
    others = np.flatnonzero(np.isin(sessions.person, people[JUDGED:]))
    chosen = np.sort(rng.permutation(others)[:CALIBRATED]).tolist()
    profile = fitted(sessions.calibration(chosen))
    assert profile.alarm is not None  # noqa: S101 - recommended profiles have an alarm
    judged = [int(rng.choice(np.flatnonzero(sessions.person == p))) for p in people[:JUDGED]]
    session, epoch = [], []
    for number in judged:
        monitor = tcuq.Monitor(profile)
        monitor.run(sessions.stream(number, None))
        session.append(monitor.epoch_evidence_bits)
        if whole:
            monitor = tcuq.Monitor(profile)
            monitor.run(sessions.stream(number, profile.alarm.epoch_steps))
            assert monitor.closed_evidence_bits is not None  # noqa: S101 - a whole epoch
            epoch.append(monitor.closed_evidence_bits)
    return Fleet(people[:JUDGED], np.array(session), np.array(epoch) if whole else None)


def fleets_of(name: str, network: int, count: int, whole: int) -> list[Fleet]:
    """Return random fleets of one network; the first ones with a whole epoch too."""
    sessions = sessions_of(name, network)
    rng = np.random.default_rng([network, 13])
    log(f"{name}: fleets of network {network}")
    return [fleet(sessions, rng, whole=turn < whole) for turn in range(count)]


def rows(short: bool) -> Iterator[Row]:
    """Yield the rows of every set; in the short form a few fleets of one network."""
    if short:
        load_network("hapt", "base", 0, train=True)
        yield from set_rows("hapt", fleets_of("hapt", 0, SHORT_FLEETS, 0))
        return
    for task, names in SETS.items():
        fleets: dict[str, list[Fleet]] = {name: [] for name in names}
        for network in trained(task):  # outermost, because its outputs take longest
            for name in names:
                fleets[name] += fleets_of(name, network, FLEETS, LONG_FLEETS)
        for name in names:
            yield from set_rows(name, fleets[name])


def discovered(bits: Array) -> Array:
    """Return which devices of a fleet e-BH discovers."""
    evidence_q8 = np.floor(256 * bits).astype(np.int64)
    cutoff = discover(evidence_q8, np.ones(len(bits), int), len(bits), LEVEL).cutoff_q8
    return np.zeros(len(bits), bool) if cutoff is None else evidence_q8 >= cutoff


def as_stored(bits: Array) -> Array:
    """Return bits of the mean with an epoch that was never closed, as the store computes it."""
    half_bits = np.clip(np.floor(2 * bits), -128, 127)
    return judged_q8(np.zeros(len(bits)), half_bits) / (2 * Q8_PER_HALF_BIT)


def share_row(title: str, people: Sequence[Array], bits: Sequence[Array]) -> Row:
    """Return the share of fleets with a false discovery; they share people, who are counted too."""
    discoveries = [discovered(one) for one in bits]
    who = {int(p) for names, one in zip(people, discoveries, strict=True) for p in names[one]}
    everyone = {int(p) for names in people for p in names}
    mean_bits = float(np.log2(np.mean(np.exp2(np.concatenate(bits)))))
    return struck_row(
        f"{title}: fleets",
        [bool(one.any()) for one in discoveries],
        f"; {len(who)} of {len(everyone)} people; mean e-value 2^{mean_bits:.1f}",
    )


def struck_row(fleets: str, struck: Sequence[bool], more: str = "") -> Row:
    """Return the share of fleets with a false discovery, and its interval."""
    count, interval = sum(struck), binomtest(sum(struck), len(struck)).proportion_ci(0.95)
    return Row(
        f"{fleets} with a false discovery at level {LEVEL}",
        f"≤ {100 * LEVEL:g} % within the 95 % interval",
        f"{100 * count / len(struck):.1f} % ({count} of {len(struck)}, interval"
        f" {100 * interval.low:.1f} to {100 * interval.high:.1f} %{more})",
        bool(interval.low <= LEVEL),
    )


def set_rows(name: str, fleets: Sequence[Fleet]) -> Iterator[Row]:
    """Yield rows of one set."""
    people = [one.people for one in fleets]
    bits = [one.session for one in fleets]
    title = f"{name}, {CALIBRATED} sessions calibrated, {JUDGED} judged"
    yield share_row(f"{title}, an epoch is a session", people, bits)
    stored = [as_stored(one) for one in bits]
    yield share_row(f"{title}, the same as the store's judge reads it", people, stored)
    epochs = [one.epoch for one in fleets if one.epoch is not None]
    if epochs:
        people = [one.people for one in fleets if one.epoch is not None]
        yield share_row(f"{title}, the session repeated for a whole epoch", people, epochs)


if __name__ == "__main__":
    measure("fleet_sessions", rows, LIBRARIES, more=partial(provenance, tuple(SETS)))
