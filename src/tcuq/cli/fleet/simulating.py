# SPDX-License-Identifier: Apache-2.0
"""`fleet simulate`: devices that never were."""

import argparse
from collections.abc import Iterator
from threading import Event
from typing import Any

from tcuq.cli.fleet.servers import add_broker, broker_place, stop_by
from tcuq.cli.printing import Commands, check_output, say


def share(text: str) -> float:
    """A share of one: `1%` or `0.01`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a share is 1% or 0.01, got {text!r}") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a share lies in 0..100%, got {text}")
    return value


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    parser = parsers.add_parser(
        "simulate", help="devices with the firmware's own code, sending through a broker"
    )
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--hours", type=int, default=24, help="simulated (default: %(default)s)")
    parser.add_argument(
        "--hour-s", type=float, default=60, metavar="SECONDS",
        help="real seconds of a simulated hour (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--drift", type=share, default=0.0, help="the share of devices that drift")
    parser.add_argument("--drift-firmware", metavar="VERSION", help="all devices of it, instead")
    parser.add_argument("--drift-from", type=int, default=0, metavar="HOUR")
    parser.add_argument("--reboot", type=share, default=0.0, help="the chance of one, each hour")
    parser.add_argument("--loss", type=share, default=0.0, help="of messages, both ways")
    parser.add_argument("--duplication", type=share, default=0.0, help="of messages, both ways")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=360, help="an hour (default: %(default)s)")
    parser.add_argument("--sites", type=int, default=5)
    parser.add_argument("--gateway", metavar="NAME", help="send batches of records through it")
    parser.add_argument("--batch", type=int, default=200, help="records in one of them")
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument(
        "--drain-s", type=float, default=300, metavar="SECONDS",
        help="to wait after the last hour for the last acknowledgement (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--truth", metavar="FILE.npz", help="what the store must hold in the end")
    add_broker(parser)
    parser.set_defaults(command=_simulate)
    yield parser


def _simulate(asked: argparse.Namespace) -> None:
    from tcuq.fleet.simulate.devices import Devices, Plan
    from tcuq.fleet.simulate.run import Wire, simulate, write_truth

    if asked.truth:
        check_output(asked.truth, ".npz")
    wire = Wire(
        broker=broker_place(asked), connections=asked.connections, gateway=asked.gateway,
        batch=asked.batch,
        loss=asked.loss, duplication=asked.duplication, hour_s=asked.hour_s, drain_s=asked.drain_s,
    )  # fmt: skip
    plan = Plan(
        devices=asked.devices, hours=asked.hours, drift=asked.drift, seed=asked.seed,
        drift_firmware=asked.drift_firmware, drift_from=asked.drift_from, reboot=asked.reboot,
        steps=asked.steps, sites=asked.sites, resend_s=wire.simulated_s(wire.resend_s),
        longest_s=wire.simulated_s(wire.longest_s),
    )  # fmt: skip
    devices, stop = Devices(plan), Event()
    stop_by(stop.set)
    done = simulate(devices, wire, stop)
    if asked.truth:
        write_truth(devices, asked.truth)
    facts: dict[str, Any] = {
        "devices": plan.devices, "sent": done.sent, "waiting": done.waiting,
        "refused": done.refused, "seconds": round(done.seconds, 3), "stopped": stop.is_set(),
    }  # fmt: skip
    text = (
        f"{plan.devices:,} devices sent {done.sent:,} records in {done.seconds:,.1f} s;"
        f" {done.waiting:,} wait for an acknowledgement"
    )
    say(asked, facts, text)
