# SPDX-License-Identifier: Apache-2.0
"""The output of `watch`: a panel that is redrawn in place, or on a pipe one line per alarm.

Written by hand because a terminal library would be a dependency for eight lines.
"""

import shutil
import time
from collections.abc import Iterator
from typing import TextIO

from tcuq._notebook import counted
from tcuq.decision import Decision
from tcuq.profile.settings import TOKEN
from tcuq.stages.budget import Outcome
from tcuq.watch.tally import Tally

BARS = "▁▂▃▄▅▆▇█"
COLUMNS = 80
LABEL = 11  # columns before a line's text
REDRAW_SECONDS = 0.1


def panel(tally: Tally, source: str, columns: int = COLUMNS) -> list[str]:
    """The lines of the panel, none wider than the terminal."""
    width = columns - LABEL - 8
    shown = list(tally.recent)[-width:]
    burst = tally.profile.budget.burst_q16 / TOKEN
    lines = [
        f"tcuq       profile {tally.profile.sha256[:8]}, {source}",
        f"steps      {tally.steps:,}"
        + (f", {counted(tally.gaps, 'gap')}" if tally.gaps else "")
        + (f", {counted(tally.refused, 'invalid line')}" if tally.refused else "")
        + (f", {tally.without_health:,} without health" if tally.without_health else ""),
        f"risk       {_strip(shown)}" + (f" {shown[-1].risk:6.4f}" if shown else ""),
        f"threshold  {_threshold(shown)}",
        f"decisions  {_marks(shown)}" + (f" {shown[-1].outcome.name.lower()}" if shown else ""),
        "           " + "   ".join(_share(tally, outcome) for outcome in Outcome),
        f"budget     {_bar(tally.tokens / burst, 20)} {tally.tokens:.1f} of {burst:g} left",
        f"alarm      {_alarm(tally)}",
    ]
    if tally.profile.promise is not None:
        lines.append(f"promise    {tally.monitor.promise}")
    return [line[:columns] for line in lines]


def _strip(shown: list[Decision]) -> str:
    top = max((max(d.risk, d.threshold) for d in shown), default=1.0) or 1.0
    return "".join(BARS[min(7, int(8 * d.risk / top))] for d in shown)


def _threshold(shown: list[Decision]) -> str:
    if not shown:
        return "–"
    return f"{shown[-1].threshold:6.4f}: a prediction at this risk or above is withheld"


def _marks(shown: list[Decision]) -> str:
    marks = {Outcome.ACCEPT: "·", Outcome.ABSTAIN: "░", Outcome.DENIED: "█"}
    return "".join("▲" if d.alarm else marks[d.outcome] for d in shown)


def _share(tally: Tally, outcome: Outcome) -> str:
    count = tally.outcomes[outcome]
    return f"{outcome.name.lower()} {count:,} ({count / max(tally.steps, 1):.1%})"


def _bar(share: float, width: int) -> str:
    full = round(min(max(share, 0.0), 1.0) * width)
    return "█" * full + "░" * (width - full)


def _alarm(tally: Tally) -> str:
    if tally.profile.alarm is None:
        return "this profile has no alarm"
    if not tally.alarms:
        return "none"
    step, cause = tally.alarms[-1]
    return f"{cause} at step {step:,}, {tally.steps - 1 - step:,} steps ago"


def events(tally: Tally, decision: Decision) -> Iterator[str]:
    """Describe a step that alarmed; yield nothing for any other step."""
    if decision.alarm:
        void = ", promise void" if tally.profile.promise is not None else ""
        yield f"step {tally.steps - 1} alarm {decision.cause}{void}"


class Screen:
    """Redraws the panel on a terminal; on a pipe prints alarms, and the totals at the end.

    Parameters
    ----------
    out
        Where to print.
    source
        The source, as the user named it.
    """

    def __init__(self, out: TextIO, source: str) -> None:
        self.out = out
        self.source = source
        self.live: bool = out.isatty()
        self._lines = 0
        self._shown = 0.0

    def show(self, tally: Tally, decision: Decision | None) -> None:
        """Show the state after a step."""
        if not self.live:
            for line in events(tally, decision) if decision is not None else ():
                self.out.write(f"{line}\n")
                self.out.flush()
            return
        now = time.monotonic()
        if now - self._shown >= REDRAW_SECONDS:
            self._shown = now
            self._draw(tally)

    def close(self, tally: Tally) -> None:
        """Show the final state: the panel on a terminal, one line on a pipe."""
        if self.live:
            self._draw(tally)
            return
        counts = " ".join(f"{o.name.lower()} {tally.outcomes[o]}" for o in Outcome)
        self.out.write(f"steps {tally.steps} {counts} refused {tally.refused}\n")
        self.out.flush()

    def _draw(self, tally: Tally) -> None:
        columns = min(shutil.get_terminal_size((COLUMNS, 24)).columns, 2 * COLUMNS)
        lines = panel(tally, self.source, columns)
        up = f"\x1b[{self._lines}A" if self._lines else ""
        self.out.write(up + "".join(f"\r\x1b[K{line}\n" for line in lines))
        self.out.flush()
        self._lines = len(lines)
