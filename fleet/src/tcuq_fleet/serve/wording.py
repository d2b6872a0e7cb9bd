# SPDX-License-Identifier: Apache-2.0
"""Wording: sentences and short numbers that explain figures on the pages."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from tcuq_fleet.judge.change import MIN_PAST, MIN_PEERS, MIN_REFERENCE
from tcuq_fleet.serve.change_queries import ChangeState
from tcuq_fleet.serve.device import UNITS_PER_BIT, Epoch
from tcuq_fleet.serve.identifiers import Group

USUAL_STEPS = 3600  # per hour, of a device that decides every second
# Of the estimated accuracy, as results/failures.json has it.
ESTIMATE_ERROR_POINTS = 12.3
ESTIMATE_ERROR = f"mean error {ESTIMATE_ERROR_POINTS:g} points under faults"
MIN_EPOCHS, MIN_ABSTENTIONS = 3, 20  # for a comparison with earlier epochs
_THOUSANDS = ((1e12, "trillion"), (1e9, "billion"), (1e6, "million"))


def drifted(group: Group, discovered: int, devices: int) -> str:
    """Say how many devices of a group are unlike calibration."""
    return f"{group}: {share(discovered, devices)}"


def share(discovered: int, devices: int) -> str:
    """Say how many of the devices are unlike calibration."""
    noun = "device" if devices == 1 else "devices"
    return f"{discovered:,} of {devices:,} {noun} unlike calibration"


def difference(discovered: int, judgeable: int, level: float) -> str:
    """Say how many devices are unlike calibration, and what to do."""
    if not discovered:
        return f"No device is unlike calibration at level {level:g}."
    return (
        f"{percent(discovered, judgeable)} of devices are unlike calibration at level {level:g}:"
        " other users, other rooms, or faults from the start. If their inputs are right, record"
        " some and recalibrate with tcuq recalibrate."
    )


def change_meaning(changed: int, compared: int, level: float) -> str:
    """Explain the verdict on changes, and what the level says about the list."""
    if not compared:
        return (
            f"A device is compared with its own past after {MIN_PAST} past epochs, among"
            f" {MIN_PEERS} peers or more of its profile and owner, once {MIN_REFERENCE} calm"
            " comparisons are known."
        )
    rule = (
        "A device's last epoch is compared with its own past, and the change ranked among those of"
        " calm devices of the same profile and owner."
    )
    if not changed:
        return rule
    few = "fewer than one" if changed * level < 1 else f"about {round(changed * level):,}"
    return f"{rule} At level {level:g} {few} of {changed:,} may be listed by chance."


def change(state: ChangeState | None) -> str:
    """Say what the device's change means."""
    if state is None or state.past_epochs < MIN_PAST:
        left = MIN_PAST + 1 if state is None else MIN_PAST - state.past_epochs
        return (
            "It is compared with its own past once it has closed"
            f" {left} more {'epoch' if left == 1 else 'epochs'}."
        )
    if not state.compared:
        return "It has too few peers of its profile and owner to rank its change among."
    if state.changed:
        return f"It changed since its own past, more than calm peers do: {state.change}."
    return "It has not changed since its own past more than calm peers do."


def evidence(q8: int, cutoff_q8: int | None, judged: int, level: float) -> str:
    """Explain a device's evidence in its last two epochs, alone and among its owner's devices."""
    among = f"Among {judged:,} devices"
    bits = q8 / UNITS_PER_BIT
    if bits <= 0:
        return f"{signed(bits)} bits: like calibration in its last closed and its running epoch."
    alone = (
        f"{bits:.1f} bits, the mean of its last closed and its running epoch: if its steps were as"
        f" in calibration, the chance of as much were at most 1 in {rounded(2.0**bits)}."
    )
    if cutoff_q8 is None:
        return f"{alone} {among} that is not enough at level {level:g}."
    cutoff = f"{cutoff_q8 / UNITS_PER_BIT:.1f} bits"
    needed = f"{among} {cutoff} are needed at level {level:g}"
    conclusion = "it is unlike calibration" if q8 >= cutoff_q8 else "it is not told apart"
    return f"{alone} {needed}: {conclusion}."


def power(steps: int, records: int) -> str:
    """Say how soon drift is found at this number of steps per record, as simulated.

    Records are sent hourly, so steps per record are steps per hour of a device.
    """
    rate = steps / records if records else 0
    known = [case for case in _power() if case["steps_per_hour"] <= rate]
    if not known:
        slowest = min(case["steps_per_hour"] for case in _power())
        return (
            f"Judged hourly. Devices here make fewer than {slowest} steps per hour, for which the"
            " delay of detection was not measured: expect an epoch or more."
        )
    case = max(known, key=lambda known_case: known_case["steps_per_hour"])
    after = case["found_percent"]
    return (
        f"Judged hourly. Of simulated devices that drift with {case['steps_per_hour']:,} steps per"
        f" hour, half are found within {case['median_hours']} h"
        f" ({', '.join(f'{share} % after {hours} h' for hours, share in after.items())})."
    )


@cache
def _power() -> list[dict[str, Any]]:
    """Return the measured delays, written by `fleet.measurements.power`."""
    text = (files("tcuq_fleet.serve") / "power.json").read_text("utf-8")
    return list(json.loads(text)["delays"])


def why(cause: str, meaning: str, epochs: Sequence[Epoch]) -> str:
    """Say what points to a difference: what the device's own last alarm means, and abstentions."""
    parts = [f"{meaning} Its own last alarm was raised by {cause}."] if cause else []
    closed = [epoch for epoch in epochs if epoch.closed and epoch.steps]
    if len(closed) >= MIN_EPOCHS:
        last, earlier = closed[-1], closed[:-1]
        now = last.abstained / last.steps
        before = sum(e.abstained for e in earlier) / sum(e.steps for e in earlier)
        if now > 2 * before and last.abstained > MIN_ABSTENTIONS:
            parts.append(
                f"It abstained in {percent(now, 1)} of steps in its last closed epoch, and in"
                f" {percent(before, 1)} before."
            )
    return " ".join(parts)


def level_meaning(discovered: int, level: float) -> str:
    """Explain what the level guarantees about a list of discoveries."""
    if not discovered:
        return f"At level {level:g} no device stands out from chance."
    wrong = discovered * level
    few = f"at most about {round(wrong):,}" if wrong >= 1 else "fewer than one"
    there = "is" if wrong < 1.5 else "are"
    return (
        f"Of {discovered:,} devices {few} {there} expected to be as in calibration, however devices"
        " depend on each other. It says nothing about why a device differs."
    )


def rounded(value: float) -> str:
    """Write a large number in words: 1.2 million."""
    if value >= 1e15:
        return f"10^{len(f'{value:.0f}') - 1}"
    for size, name in _THOUSANDS:
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value:,.0f}"


def short(value: float) -> str:
    """Write a number for an axis or a tile: 1.2 M."""
    for size, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g} {name}"
    return f"{value:.3g}"


def percent(part: float, whole: float) -> str:
    """Write a share as a percentage with its significant digits."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if part and share < 0.01:
        return "< 0.01 %"
    return f"{share:.2f} %" if share < 10 else f"{share:.1f} %"


def signed(value: float) -> str:
    """Write one decimal, with a typographic minus sign."""
    return f"{value:.1f}".replace("-", "\N{MINUS SIGN}")


def ago(then: datetime, now: datetime | None = None) -> str:
    """Write the time since then in the largest unit that fits."""
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name} ago"
    return "just now" if seconds < 60 else "1 min ago"
