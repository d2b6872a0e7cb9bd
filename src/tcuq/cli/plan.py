# SPDX-License-Identifier: Apache-2.0
"""`tcuq plan`: options of `tcuq fit` from rates per hour and month."""

import argparse
import math
from typing import Any

from tcuq.cli._arguments import adder
from tcuq.cli.output import print_result
from tcuq.errors import InputError
from tcuq.options import AlarmOptions, FitOptions
from tcuq.profile.settings import MAX_STEPS_PER_FALSE_ALARM

SENTENCE = "choose the options of a fit from rates in your units"
EXAMPLE = "plan --steps-per-hour 3600 --false-alarms-per-month 1"
HOURS_PER_MONTH = 730
MAX_EPOCH_STEPS = 2**31 - 1
BOOT_STEPS = 512  # false alarms per boot: at most this over steps_per_false_alarm
BUDGET_SHARE = 1.5  # of alpha: the room above what usual data withhold, as in the defaults


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("--steps-per-hour", "predictions per hour of one device", type=float, required=True)
    add(
        "--false-alarms-per-month",
        "tolerated false alarms per month of all devices",
        type=float,
        default=1.0,
    )
    add("--devices", "number of devices", type=int, default=1)
    add(
        "--withheld",
        "share of predictions that may be withheld on normal data",
        type=float,
        default=0.1,
    )


def run(args: argparse.Namespace) -> None:
    """Print the options, what they mean in the user's units, and the command to type."""
    per_hour, options = args.steps_per_hour, planned(args)
    alarm = options.alarm or AlarmOptions()
    hourly = options.burst + options.budget * per_hour
    monthly = per_hour * HOURS_PER_MONTH / alarm.steps_per_false_alarm
    facts: dict[str, Any] = {
        "alpha": options.alpha,
        "budget": options.budget,
        "burst": options.burst,
        "steps_per_false_alarm": alarm.steps_per_false_alarm,
        "epoch_steps": alarm.epoch_steps,
    }
    meaning = {
        "alpha": f"on usual data about {options.alpha:.3g} of predictions, "
        f"{options.alpha * per_hour:,.3g} per hour, would be withheld",
        "budget": f"at most {options.budget:.3g} may abstain in the long run, whatever happens",
        "burst": f"at most {hourly:,.0f} in any hour",
        "steps_per_false_alarm": f"at most {monthly:.3g} false alarms per device and month, "
        f"and {BOOT_STEPS / alarm.steps_per_false_alarm:.2g} more per restart",
        "epoch_steps": f"one epoch, whose evidence a fleet combines, is "
        f"{alarm.epoch_steps / per_hour:,.3g} hours",
    }
    text = [f"{name:<22}{facts[name]:>12,.12g}  {words}" for name, words in meaning.items()]
    total = monthly * args.devices
    facts["false_alarms_per_month"] = total
    if total > 1.01 * args.false_alarms_per_month:
        text.append(
            f"\nnote: {MAX_STEPS_PER_FALSE_ALARM:,} is the most that a device can count; together"
            f" all devices may raise {total:.3g} false alarms per month.\nTo bound false alarms"
            " over many devices, let a fleet judge their records: docs/fleet."
        )
    switches = " ".join(f"--{name.replace('_', '-')} {facts[name]:.12g}" for name in meaning)
    text.append(f"\ntcuq fit calibration.npz -o monitor.json {switches}")
    print_result(args, facts, "\n".join(text))


def planned(args: argparse.Namespace) -> FitOptions:
    """Return the options that keep the rates; refuse rates that no options keep."""
    for name in ("steps_per_hour", "false_alarms_per_month", "devices"):
        value = getattr(args, name)
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name.replace('_', '-')} must be above 0, got {value:g}")
    if not 0 < args.withheld < 1:
        raise InputError(f"withheld must lie in (0, 1), got {args.withheld:g}")
    steps = args.steps_per_hour * HOURS_PER_MONTH * args.devices / args.false_alarms_per_month
    alarm = AlarmOptions(
        steps_per_false_alarm=min(max(256, math.ceil(steps)), MAX_STEPS_PER_FALSE_ALARM),
        epoch_steps=min(max(256, round(24 * args.steps_per_hour)), MAX_EPOCH_STEPS),
    )
    budget = min(1.0, round(BUDGET_SHARE * args.withheld, 6))
    return FitOptions(alpha=args.withheld, budget=budget, alarm=alarm)
