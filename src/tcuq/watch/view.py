# SPDX-License-Identifier: Apache-2.0
"""The output of `watch`: a live table on a terminal (extra `watch`), alarms as lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TextIO

from tcuq._notebook import counted
from tcuq.decision import Decision
from tcuq.profile.settings import TOKEN
from tcuq.stages.budget import Outcome
from tcuq.watch.tally import Tally

if TYPE_CHECKING:
    from rich.table import Table

BARS = "▁▂▃▄▅▆▇█"
MARKS = {Outcome.ACCEPT: "·", Outcome.ABSTAIN: "░", Outcome.DENIED: "█"}
STRIP = 56  # steps of the strips of risk and decisions
BUDGET_COLUMNS = 20
REDRAW_SECONDS = 0.1


def panel(tally: Tally, source: str) -> "Table":
    """Return the state as a table that rich draws: one row per fact, cropped to the terminal."""
    from rich.table import Table
    from rich.text import Text

    recent, profile = list(tally.recent)[-STRIP:], tally.profile
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", min_width=9, no_wrap=True)
    grid.add_column(no_wrap=True, overflow="crop")
    grid.add_row("tcuq", Text(f"profile {profile.sha256[:8]}, {source}"))
    grid.add_row("steps", ", ".join(_counts(tally)))
    if recent:
        last, top = recent[-1], max(max(d.risk, d.threshold) for d in recent) or 1.0
        risks = "".join(BARS[min(7, int(8 * d.risk / top))] for d in recent)
        marks = "".join(_mark(d) for d in recent)
        withheld = "a prediction at this risk or above is withheld"
        grid.add_row("risk", f"{risks} {last.risk:.4f}")
        grid.add_row("threshold", f"{last.threshold:.4f}: {withheld}")
        grid.add_row("decisions", f"{marks} {last.outcome.name.lower()}")
    shares = (f"{o.name.lower()} {n:,} ({n / max(tally.steps, 1):.1%})" for o, n in _totals(tally))
    grid.add_row("", "  ".join(shares))
    if recent:
        grid.add_row("accuracy", f"{tally.estimated_accuracy:.1%} {_estimate(tally)}")
    burst = profile.budget.burst_q16 / TOKEN
    full = round(BUDGET_COLUMNS * min(max(tally.tokens / burst, 0.0), 1.0))
    bar = "█" * full + "░" * (BUDGET_COLUMNS - full)
    grid.add_row("budget", f"{bar} {tally.tokens:.1f} of {burst:g} left")
    colour = "bold red" if tally.alarms else "yellow" if _ambers(tally) else ""
    grid.add_row("alarm", Text(_alarm(tally), style=colour))
    if profile.promise is not None:
        grid.add_row("promise", Text(str(tally.monitor.promise)))
    return grid


def _counts(tally: Tally) -> Iterator[str]:
    yield f"{tally.steps:,}"
    if tally.gaps:
        yield counted(tally.gaps, "gap")
    if tally.invalid:
        yield counted(tally.invalid, "invalid line")
    if tally.without_health:
        yield f"{tally.without_health:,} without health"


def _estimate(tally: Tally) -> str:
    return f"of the last {len(tally.recent):,} predictions are probably right"


def _totals(tally: Tally) -> list[tuple[Outcome, int]]:
    return [(outcome, tally.outcomes[outcome]) for outcome in Outcome]


def _mark(decision: Decision) -> str:
    return "▲" if decision.alarm else "△" if decision.amber else MARKS[decision.outcome]


def _ambers(tally: Tally) -> int:
    return sum(decision.amber for decision in tally.recent)


def _alarm(tally: Tally) -> str:
    if tally.profile.alarm is None:
        return "this profile has no alarm"
    if not tally.alarms:
        return f"none; amber {counted(_ambers(tally), 'time')} lately" if _ambers(tally) else "none"
    step, cause = tally.alarms[-1]
    return f"{cause} at step {step:,}, {tally.steps - 1 - step:,} steps ago"


def events(tally: Tally, decision: Decision) -> Iterator[str]:
    """Describe a step that alarmed; yield nothing for any other step."""
    if decision.alarm:
        void = ", promise void" if tally.profile.promise is not None else ""
        yield f"step {tally.steps - 1} alarm {decision.cause}{void}"
        yield f"  {decision.meaning}"


class Screen:
    """Shows the state on a terminal; on a pipe, or without rich, prints alarms and the totals.

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
        self._live: Any = None
        self._shown = 0.0
        if out.isatty() and find_spec("rich") is None:
            sys.stderr.write("tcuq: for a live view  pip install 'tcuq[watch]'\n")
        elif out.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(file=out), auto_refresh=False)
            self._live.start()

    def show(self, tally: Tally, decision: Decision | None) -> None:
        """Show the state after a step."""
        if self._live is not None:
            now = time.monotonic()
            if now - self._shown >= REDRAW_SECONDS:
                self._shown = now
                self._live.update(panel(tally, self.source), refresh=True)
        elif decision is not None:
            for line in events(tally, decision):
                self.out.write(f"{line}\n")
                self.out.flush()

    def close(self, tally: Tally, *, failed: bool) -> None:
        """Show the final state: the table on a terminal, one line on a pipe if anything ran."""
        if self._live is not None:
            self._live.update(panel(tally, self.source), refresh=True)
            self._live.stop()
            return
        if failed and not tally.steps:
            return
        counts = " ".join(f"{outcome.name.lower()} {count}" for outcome, count in _totals(tally))
        self.out.write(f"steps {tally.steps} {counts} invalid {tally.invalid}\n")
        self.out.flush()
