# SPDX-License-Identifier: Apache-2.0
"""Decision: a monitor's result for one step; Trace: its results for a stream."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcuq._extras import import_extra
from tcuq._notebook import counted, facts_table
from tcuq.causes import HEALTH, SINCE_BOOT, meaning
from tcuq.errors import InputError
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome
from tcuq.stages.threshold import REASONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTCOMES = tuple(outcome.name.lower() for outcome in Outcome)
# An alarm has one channel, and may be since boot.
CHANNELS: list[int] = [0, *(flag for flag in AlarmFlag if flag is not AlarmFlag.SINCE_BOOT)]
FLAGS = np.array([*CHANNELS, *(flag | AlarmFlag.SINCE_BOOT for flag in CHANNELS[1:])], np.uint8)
ALARMS = tuple(str(AlarmFlag(int(bits))) for bits in FLAGS)
NAMES = {"outcome": OUTCOMES, "reason": REASONS, "alarm": ALARMS}
SHOWN_ALARMS = 5
# Of a trace's columns.
DTYPES = ("i4", "i4", "f8", "f8", "f8", "f8", "?", "u1", "u1", "?", "u1", "?", "u1", "f8", "?")


def cause_in_words(health_names: Sequence[str], alarm: int, statistic: int) -> str:
    """Return the channel that alarmed in words; if input health explains it, with the statistic.

    ``statistic`` counts from 1; 0 stands for none.
    """
    flags = AlarmFlag(alarm)
    named = flags & ~(AlarmFlag.SINCE_BOOT | AlarmFlag.HEALTH)
    causes = [str(flag.name).lower() for flag in named]
    if 1 <= statistic <= len(health_names):
        causes.append(f"{HEALTH}: {health_names[statistic - 1]}")
    elif AlarmFlag.HEALTH in flags:
        causes.append(HEALTH)
    return ", ".join(causes) + SINCE_BOOT * (AlarmFlag.SINCE_BOOT in flags)


def steps_by_cause(alarms: Iterable[tuple[int, str]]) -> dict[str, list[int]]:
    """Return the steps of the alarms of each cause, from (step, cause in words)."""
    steps: dict[str, list[int]] = {}
    for step, cause in alarms:
        steps.setdefault(cause, []).append(step)
    return steps


@dataclass(frozen=True, slots=True)
class Decision:
    """The monitor's result for one step.

    ``risk`` is that of an error; ``expected_error`` is for means over a stretch, whose share of
    errors it estimates. ``novelty`` says how unlike calibration this step and the last ones are, in
    bits of surprise, at most 16; 0 if the profile has none. ``steady_label`` is the most probable
    class by posterior and past. ``withheld``: do not use the label; ``reason`` says why not:
    "doubt", "unusual" or "both". ``amber``: a block of steps ended with a 64th of the evidence that
    alarms, or with an alarm. ``cause`` names the channel of an alarm, ``change`` says how far it is
    from calibration, and ``meaning`` both in a sentence. ``promised``: the step is accepted, and
    the profile's bound on the accepted error stands.
    """

    label: int
    steady_label: int
    risk: float
    expected_error: float
    novelty: float
    threshold: float
    exceeded: bool
    reason: str
    outcome: Outcome
    withheld: bool
    alarm: AlarmFlag
    amber: bool = False
    cause: str = ""
    change: float = 0.0
    promised: bool = False

    @property
    def meaning(self) -> str:
        """What an alarm means, for a technician: one sentence, or "" without an alarm."""
        return meaning(self.cause, self.change, self.label)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _HealthNames:
    """Names of the statistics of input health: no column, and so no slot of Trace itself."""

    health_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace(_HealthNames):
    """The decisions on a stream: one array per field of Decision.

    ``trace[3]`` is a Decision and ``trace[10:20]`` a Trace. ``risk`` is in 1/16384, ``novelty`` in
    bits; a step asks to be withheld where ``reason`` is not 0 (bits: 1 doubt, 2 unusual);
    ``withheld`` is what the budget made of it; ``exceeded`` is what the ledger counts, at the rate
    alpha; ``alarm`` holds AlarmFlag bits, ``amber`` where a 64th of its evidence was there,
    ``cause`` 1 + the statistic of input health that explains the alarm, ``change`` its size;
    ``alarms`` the alarms' steps and causes in words, ``meanings`` in sentences; ``promised`` the
    accepted steps that the profile's bound on the accepted error covers, none from an alarm on.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> from tcuq.monitor import Monitor
    >>> trace = Monitor(demo_profile()).run(demo_stream("fault_clipping"))
    >>> trace
    Trace(1,920 steps: 1,169 accept, 293 abstain, 458 denied; 9 alarms)
    >>> next(iter(trace.meanings.items()))
    (423, 'The microphone level rose to 83 times.')
    """

    label: NDArray[np.int32]
    steady_label: NDArray[np.int32]
    risk: NDArray[np.float64]
    expected_error: NDArray[np.float64]
    novelty: NDArray[np.float64]
    threshold: NDArray[np.float64]
    exceeded: NDArray[np.bool_]
    reason: NDArray[np.uint8]
    outcome: NDArray[np.uint8]
    withheld: NDArray[np.bool_]
    alarm: NDArray[np.uint8]
    amber: NDArray[np.bool_]
    cause: NDArray[np.uint8]
    change: NDArray[np.float64]
    promised: NDArray[np.bool_]

    @classmethod
    def empty(cls, steps: int, health_names: tuple[str, ...] = ()) -> "Trace":
        """Return a trace of zeros, to be filled in."""
        return cls(*(np.zeros(steps, dtype) for dtype in DTYPES), health_names=health_names)

    def __len__(self) -> int:
        return len(self.label)

    def plot(
        self,
        *,
        ax: "Axes | None" = None,
        starts: ArrayLike | None = None,
        shifted: ArrayLike | None = None,
    ) -> "Axes":
        """Plot risk, threshold, outcomes and alarms by step; extra `plot`."""
        from tcuq._plots import plot_trace

        columns = (self.risk, self.threshold, self.outcome)
        return plot_trace(*columns, self.alarms, ax=ax, starts=starts, shifted=shifted)

    @overload
    def __getitem__(self, step: SupportsIndex) -> Decision: ...

    @overload
    def __getitem__(self, step: slice) -> "Trace": ...

    def __getitem__(self, step: SupportsIndex | slice) -> "Decision | Trace":
        if isinstance(step, slice):
            columns = (getattr(self, name)[step] for name in self.__slots__)
            return Trace(*columns, health_names=self.health_names)
        at = index(step)
        row: dict[str, Any] = {name: getattr(self, name)[at].item() for name in self.__slots__}
        row |= {"outcome": Outcome(row["outcome"]), "alarm": AlarmFlag(row["alarm"])}
        row["reason"] = REASONS[row["reason"]]
        return Decision(**row | {"cause": self._cause_at(at)})

    def _cause_at(self, step: int) -> str:
        return cause_in_words(self.health_names, int(self.alarm[step]), int(self.cause[step]))

    def estimated_accuracy(self, window: int = 100) -> NDArray[np.float64]:
        """Return the share of labels that are probably right in the last `window` steps, by step.

        NaN before the first whole window; no labels are needed. It is an estimate: the benchmark
        states how far it was off under shifts, and it ranks stretches better than it measures them.

        Examples
        --------
        >>> from tcuq.demo import demo_profile, demo_stream
        >>> from tcuq.monitor import Monitor
        >>> trace = Monitor(demo_profile()).run(demo_stream("fault_hum"))
        >>> bool(trace.estimated_accuracy(300)[880] < trace.estimated_accuracy(300)[400])
        True
        """
        if window < 1:
            raise InputError(f"window must be at least 1, got {window}")
        summed = np.concatenate([[0.0], np.cumsum(self.expected_error)])
        accuracy = np.full(len(self), np.nan)
        accuracy[window - 1 :] = 1 - (summed[window:] - summed[:-window]) / window
        return accuracy

    @property
    def alarms(self) -> dict[int, str]:
        """The steps at which an alarm was raised, each with its cause in words."""
        return {step: self._cause_at(step) for step in np.flatnonzero(self.alarm).tolist()}

    @property
    def meanings(self) -> dict[int, str]:
        """The steps at which an alarm was raised, each with a sentence for a technician."""
        return {step: self[step].meaning for step in self.alarms}

    def _causes(self) -> NDArray[np.object_]:
        """Return the cause of each step in words, empty without an alarm."""
        causes = np.full(len(self), "", object)
        for step, cause in self.alarms.items():
            causes[step] = cause
        return causes

    def _codes(self, name: str) -> NDArray[Any]:
        """Return the index of each step's word in NAMES."""
        codes: NDArray[np.uint8] = getattr(self, name)
        return np.searchsorted(FLAGS, codes) if name == "alarm" else codes

    def to_pandas(self) -> Any:  # noqa: ANN401 - pandas is not imported for its name
        """A pandas DataFrame with one row per step; outcome, alarm and cause are words."""
        pandas = import_extra("pandas", "pandas")
        columns = {name: getattr(self, name) for name in self.__slots__}
        for name, words in NAMES.items():
            columns[name] = pandas.Categorical.from_codes(self._codes(name), words)
        columns["cause"] = pandas.Categorical(self._causes())
        return pandas.DataFrame(columns, index=pandas.RangeIndex(len(self), name="step"))

    def to_arrow(self) -> Any:  # noqa: ANN401 - pyarrow is not imported for its name
        """An Arrow table with one row per step; outcome, alarm and cause are words."""
        arrow = import_extra("pyarrow", "parquet")
        columns = {name: arrow.array(getattr(self, name)) for name in self.__slots__}
        for name, words in NAMES.items():
            codes = arrow.array(self._codes(name).astype(np.int8))
            columns[name] = arrow.DictionaryArray.from_arrays(codes, list(words))
        columns["cause"] = arrow.array(self._causes(), arrow.string()).dictionary_encode()
        return arrow.table({"step": np.arange(len(self)), **columns})

    def _counts(self) -> dict[str, int]:
        return {name: int((self.outcome == code).sum()) for code, name in enumerate(OUTCOMES)}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self._counts().items())
        alarms = counted(int((self.alarm > 0).sum()), "alarm")
        return f"Trace({counted(len(self), 'step')}: {counts}; {alarms})"

    def _repr_html_(self) -> str:
        shares = {
            name: f"{n:,} ({n / max(1, len(self)):.1%})" for name, n in self._counts().items()
        }
        risk = f"{self.risk.mean():.4f}" if len(self) else "none"
        first = [f"{step:,} ({names})" for step, names in list(self.alarms.items())[:SHOWN_ALARMS]]
        more = int((self.alarm > 0).sum()) - len(first)
        alarms = ", ".join(first + ([f"and {more:,} more"] if more else [])) or "none"
        facts = {"steps": f"{len(self):,}", **shares, "mean risk": risk, "alarms": alarms}
        return facts_table("Trace", facts)


def joined_traces(traces: Sequence[Trace]) -> Trace:
    """Concatenate traces of consecutive steps."""
    columns = (np.concatenate([getattr(t, name) for t in traces]) for name in Trace.__slots__)
    return Trace(*columns, health_names=traces[0].health_names)
