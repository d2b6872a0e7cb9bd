# SPDX-License-Identifier: Apache-2.0
"""Rivals of the alarm, each with one limit; and the streams on which they are compared.

The former alarm is that before docs/decisions/0077. Two bounds: a CUSUM that knows the fault, and a
learner for which no block of a fault looks like any that it knows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import tcuq
from tcuq.calibrate.bets import TWO_SIDED, block_means, block_steps, recounted
from tcuq.calibrate.observe import observe
from tcuq.profile.settings import RISK_LEVELS, AlarmSettings, Channel
from tcuq.stages.alarm import channel_input, edges_passed
from tcuq.stages.columns import SignalColumns, concatenate
from tcuq.stages.score import risk_odds
from tcuq_benchmark.detectors import cases as streams
from tcuq_benchmark.detectors.baselines import River, adwin, cusum, limit_grid, page_hinkley
from tcuq_benchmark.detectors.detector import lowest_limit, signal_input
from tcuq_benchmark.measurements.alarm_cases import SEVERE, Case, calibration, calm, fitted, pool_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CLIP = 4.0
LIMITS = tuple(float(limit) for limit in np.arange(2.0, 24.01, 0.25))  # of log2
FORMER_STAKES, FORMER_RESERVE = (0.17, 0.17, 0.16), 0.5
UNIT = 16  # of a count of blocks


class Onset(NamedTuple):
    """A fault of one case: the stream that ends with it, and where it begins."""

    fault: str
    stream: "View"
    begin: int


@dataclass(frozen=True)
class View:
    """A stream as detectors see it: of each step its risk, and its channels in deviations."""

    profile: tcuq.Profile
    stream: tcuq.Stream
    columns: SignalColumns
    odds: Floats
    risk: Floats
    deviations: Floats  # (steps, channels), 0 where a channel does not count


@dataclass(frozen=True)
class Setting:
    """One calibration, a calm stream and every severe fault after it."""

    calibration: View
    calm: View
    onsets: Sequence[Onset]

    @property
    def alarm(self) -> AlarmSettings:
        """The fitted alarm."""
        assert self.calibration.profile.alarm is not None  # noqa: S101 - recommended
        return self.calibration.profile.alarm


def view_of(
    profile: tcuq.Profile, stream: tcuq.Stream, scale: tuple[Floats, Floats] | None
) -> View:
    """Run the monitor's signals and score over a stream."""
    assert profile.alarm is not None  # noqa: S101 - recommended profiles have one
    columns = concatenate(observe(stream, profile.inputs, profile.signals))
    risk = tcuq.Monitor(profile).run(stream).risk
    odds = risk_odds(np.rint(risk * RISK_LEVELS).astype(np.int64))
    table = np.full((len(stream), len(profile.alarm.channels)), np.nan)
    for place, channel in enumerate(profile.alarm.channels):
        steps, values = channel_input(columns, odds, channel.signal)
        table[steps, place] = values
    means, spreads = scale or (np.nanmean(table, axis=0), np.nanstd(table, axis=0))
    return View(profile, stream, columns, odds, risk, np.nan_to_num((table - means) / spreads))


def prepare(case: Case, steps: int) -> Setting:
    """Calibrate, and make the streams that follow."""
    recorded = calibration(case)
    profile = fitted(recorded)
    assert profile.alarm is not None  # noqa: S101 - recommended profiles have one
    first = view_of(profile, recorded, None)
    table = [channel_input(first.columns, first.odds, c.signal)[1] for c in profile.alarm.channels]
    scale = np.array([each.mean() for each in table]), np.array([each.std() for each in table])
    pool = pool_of(case.task, case.network)
    _, rows = pool.split(case.split, case.number)
    lead_in = calm(case, streams.LEAD_IN + streams.LEAD_IN_JITTER, 1_000 + case.number).stream
    onsets = []
    for turn, shift in enumerate(pool.shifts):
        if shift[1] in SEVERE:
            begin = streams.LEAD_IN + streams.jitter(case.number, turn)
            whole = streams.concatenate(lead_in[:begin], pool.shifted(shift, rows, case.number))
            onsets.append(Onset(f"{shift[0]} {shift[1]}", view_of(profile, whole, scale), begin))
    run = view_of(profile, calm(case, steps, 2 * case.number + 1).stream, scale)
    return Setting(first, run, onsets)


@dataclass(frozen=True)
class Detector:
    """A detector with one limit, higher for fewer alarms, for streams of one case."""

    name: str
    limits: Sequence[float]
    alarms: Callable[[Setting, View, float], Bools]
    in_hindsight_alone: bool = False  # it has a limit of its own, or none from calibration


def risk_cusum(_case: Setting, stream: View, limit: float) -> Bools:
    """Page's chart on the risk's log-odds, slack one half."""
    return cusum(np.minimum(stream.deviations[:, 0], CLIP) - 0.5, limit)


def departures(case: Setting, stream: View) -> Floats:
    """Return the sum over channels of departures upwards, of two-sided ones in both directions."""
    sided = np.array([c.signal in TWO_SIDED for c in case.alarm.channels])
    heights = np.where(sided, np.abs(stream.deviations), stream.deviations)
    total: Floats = np.clip(heights, 0, CLIP).sum(axis=1)
    return total


def channel_cusum(case: Setting, stream: View, limit: float) -> Bools:
    """Page's chart over all channels, clipped, slack one."""
    known = departures(case, case.calibration)
    values = (departures(case, stream) - known.mean()) / (known.std() or 1.0)
    return cusum(np.minimum(values, CLIP) - 1, limit)


def step_detector(case: Setting, stream: View, limit: float) -> Bools:
    """Sum e-values of single steps (Shiryaev-Roberts), three bets on calibration's quantiles."""
    known, values = np.sort(departures(case, case.calibration)), departures(case, stream)
    payoffs = []
    for share in (0.1, 0.02, 1 / (len(known) + 1)):
        edge = known[min(len(known) - 1, int((1 - share) * len(known)))]
        chance = (np.count_nonzero(known > edge) + 1) / (len(known) + 1)
        payoffs.append(0.5 + 0.5 * (values > edge) / chance)
    alarms, sums, bound = np.zeros(len(values), np.bool_), [0.0] * 3, 3 * 2.0**limit
    for step, (low, middle, top) in enumerate(zip(*(p.tolist() for p in payoffs), strict=True)):
        sums = [(sums[0] + 1) * low, (sums[1] + 1) * middle, (sums[2] + 1) * top]
        if sum(sums) >= bound:
            alarms[step], sums = True, [0.0] * 3
    return alarms


def ours(case: Setting, stream: View, limit: float) -> Bools:
    """Run the monitor's alarm, set to one false alarm in 2^limit steps."""
    profile = case.calibration.profile
    alarm = replace(case.alarm, steps_per_false_alarm=min(max(256, round(2**limit)), 1 << 24))
    return tcuq.Monitor(replace(profile, alarm=alarm)).run(stream.stream).alarm > 0


class FormerBets:
    """A channel of the alarm before docs/decisions/0077: one sum of one bet with mixed stakes."""

    def __init__(self, channel: Channel) -> None:
        self.evidence = 0.0
        self._block = channel.block
        self._passes = [list(row) for row in channel.passes]
        self._chances = channel.chances
        self._memory = 0  # blocks for which the last that passed an edge still counts

    def take(self, passed: int) -> None:
        """Bet on a block, then learn from it."""
        counts, chances = self._passes[self._memory > 0], self._chances
        if self._memory:
            chances = max(0, 2 * self._passes[0][0] - 4 * UNIT) + counts[0]
        stakes = zip(FORMER_STAKES[:passed], counts, strict=False)
        payoff = FORMER_RESERVE + sum(stake * chances / count for stake, count in stakes)
        self.evidence = (self.evidence + self._block) * payoff
        self._chances += 0 if self._memory else UNIT
        counts[:passed] = [count + UNIT for count in counts[:passed]]
        self._memory = 2 if passed else max(0, self._memory - 1)


def former(case: Setting, stream: View, limit: float) -> Bools:
    """Run the alarm of the development before this form, without its boot bets."""
    channels = former_channels(case)
    bets = [FormerBets(channel) for channel in channels]
    ends: list[tuple[int, int, int]] = []
    for place, channel in enumerate(channels):
        steps, values = channel_input(stream.columns, stream.odds, channel.signal)
        means = block_means(values, channel.block)
        edges = np.minimum(edges_passed(means, channel.edges, channel.centre), 3).tolist()
        last = steps[channel.block - 1 :: channel.block][: len(means)]
        ends += zip(last.tolist(), [place] * len(means), edges, strict=True)
    alarms, bound = np.zeros(len(stream.odds), np.bool_), 4 * len(channels) * 2.0**limit
    for step, blocks in groupby(sorted(ends), key=lambda end: end[0]):
        for _, place, passed in blocks:
            bets[place].take(passed)
        if sum(each.evidence for each in bets) >= bound:
            alarms[step] = True
            for each in bets:
                each.evidence = 0.0
    return alarms


def former_channels(case: Setting) -> list[Channel]:
    """Fit the channels with blocks by autocorrelation alone, as the former alarm did."""
    known = case.calibration.profile.provenance
    share = known.calibration.distinct / known.calibration.steps
    channels = []
    for channel in case.alarm.channels:
        _, values = channel_input(case.calibration.columns, case.calibration.odds, channel.signal)
        time = known.figures[f"{channel.signal}.autocorrelation_time_steps"]
        longer = replace(channel, block=block_steps(channel.signal, time))
        channels.append(recounted(longer, values, share))
    return channels


def river(name: str, make: Callable[[str], River]) -> Detector:
    """Return one of river's detectors on the risk."""
    peer = make("risk")

    def alarms(_case: Setting, stream: View, limit: float) -> Bools:
        return peer.alarms(signal_input("risk", stream.risk), limit)

    return Detector(name, peer.limits, alarms)


DETECTORS = (
    Detector("this alarm", LIMITS, ours, in_hindsight_alone=True),
    Detector("the former alarm", LIMITS, former, in_hindsight_alone=True),
    Detector("CUSUM on risk", limit_grid(1, 1e5), risk_cusum),
    Detector("CUSUM over channels", limit_grid(1, 1e5), channel_cusum),
    river("ADWIN on risk", adwin),
    river("Page-Hinkley on risk", page_hinkley),
    Detector("e-detector by step", tuple(np.arange(2.0, 200.0, 0.5).tolist()), step_detector),
)


@dataclass(frozen=True)
class Oracle:
    """A CUSUM that knows the fault: log-likelihood ratios by logistic regression on both sides."""

    case: Setting
    onset: Onset

    @cached_property
    def weights(self) -> tuple[Floats, float]:
        """Fit on the steps before and after the onset itself."""
        values = self.onset.stream.deviations
        shifted = np.arange(len(values)) >= self.onset.begin
        model = LogisticRegression(class_weight="balanced", max_iter=500).fit(values, shifted)
        return model.coef_[0], float(model.intercept_[0])

    def increments(self, stream: View) -> Floats:
        """Return the clipped log-likelihood ratios of a stream."""
        coefficients, bias = self.weights
        return np.clip(stream.deviations @ coefficients + bias, -CLIP, CLIP)


def oracle_delays(settings: Sequence[Setting], allowed: float) -> list[float]:
    """Return delays of the CUSUM that knows each fault, at the rate measured on calm steps."""
    delays = []
    for number in range(len(settings[0].onsets)):
        pairs = [Oracle(case, case.onsets[number]) for case in settings]
        calm_runs = [one.increments(one.case.calm) for one in pairs]
        limit = lowest_limit(limit_grid(1, 1e4), partial(_few_alarms, calm_runs, allowed))
        for one in pairs:
            alarms = cusum(one.increments(one.onset.stream), limit)
            delays.append(streams.delay(alarms[one.onset.begin :]))
    return delays


def _few_alarms(runs: Sequence[Floats], allowed: float, limit: float) -> bool:
    return sum(int(cusum(run, limit).sum()) for run in runs) <= allowed


def learners_limit(case: Setting, h: int) -> float:
    """Return the delay of a learner that no block of a fault looks like: m blocks and a half.

    With n known blocks the next beyond all of them pays at most n, then n / 2, and so on.
    """
    delays = []
    for channel in case.alarm.channels:
        known, needed = channel.chances / UNIT, 2.0**h * len(case.alarm.channels) / channel.block
        blocks, wealth = 0, 1.0
        while wealth < needed and blocks < 64:
            blocks += 1
            wealth *= max(known / blocks, 1.01)
        delays.append(channel.block * (blocks + 0.5))
    return min(delays)


def in_random_order(case: Setting, seed: int) -> View:
    """Return calibration in random order of 100-step pieces: what a user can tune a limit on."""
    first = case.calibration
    pieces = np.array_split(np.arange(len(first.odds)), max(1, len(first.odds) // 100))
    rng = np.random.default_rng([seed, 31])
    order = np.concatenate([pieces[i] for i in rng.permutation(len(pieces))])
    return replace(first, risk=first.risk[order], deviations=first.deviations[order])
