# SPDX-License-Identifier: Apache-2.0
"""`fleet`: records of many devices. A subcommand is a function that adds its parser to ROOMS."""

import argparse
import signal
from collections.abc import Iterator
from threading import Event
from typing import Any

from tcuq.cli.printing import Commands, check_output, say


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    fleet = parsers.add_parser("fleet", help="records of many devices, simulated or real")
    rooms = fleet.add_subparsers(required=True, metavar="COMMAND")
    for add in ROOMS:
        yield add(rooms)


def share(text: str) -> float:
    """A share of one: `1%` or `0.01`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a share is 1% or 0.01, got {text!r}") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a share lies in 0..100%, got {text}")
    return value


def add_broker(parser: argparse.ArgumentParser) -> None:
    """Options of every command that speaks with a broker."""
    parser.add_argument(
        "--broker", default="mqtt://127.0.0.1", metavar="URL",
        help="mqtt://[user:password@]host[:port], mqtts:// over TLS (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--ca", metavar="FILE", help="who signs the broker's certificate")
    parser.add_argument("--cert", metavar="FILE", help="our own certificate")
    parser.add_argument("--key", metavar="FILE", help="and its key")


def stopping() -> Event:
    """Set by Ctrl-C or SIGTERM from now on."""
    stop = Event()

    def set_it(_number: int, _frame: object) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, set_it)
    return stop


def _simulate_parser(parsers: Commands) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = parsers.add_parser(
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
    return parser


def _simulate(asked: argparse.Namespace) -> None:
    from tcuq.fleet.devices import Devices, Plan
    from tcuq.fleet.link import Broker
    from tcuq.fleet.simulate import Wire, simulate, write_truth

    if asked.truth:
        check_output(asked.truth, ".npz")
    broker = Broker(url=asked.broker, ca=asked.ca, certificate=asked.cert, key=asked.key)
    wire = Wire(
        broker=broker, connections=asked.connections, gateway=asked.gateway, batch=asked.batch,
        loss=asked.loss, duplication=asked.duplication, hour_s=asked.hour_s, drain_s=asked.drain_s,
    )  # fmt: skip
    plan = Plan(
        devices=asked.devices, hours=asked.hours, drift=asked.drift, seed=asked.seed,
        drift_firmware=asked.drift_firmware, drift_from=asked.drift_from, reboot=asked.reboot,
        steps=asked.steps, sites=asked.sites, resend_s=wire.simulated_s(wire.resend_s),
        longest_s=wire.simulated_s(wire.longest_s),
    )  # fmt: skip
    devices, stop = Devices(plan), stopping()
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


ROOMS = (_simulate_parser,)
