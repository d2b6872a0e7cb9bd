# SPDX-License-Identifier: Apache-2.0
"""`fleet simulate`: simulated devices that run the real firmware code."""

import argparse
from threading import Event
from typing import Any

from tcuq.cli.output import Commands, check_output, print_result
from tcuq_fleet.cli.options import add_broker, broker_address, stop_on_signal


def share(text: str) -> float:
    """Parse a share: `1%` or `0.01`."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"a share is 1% or 0.01, got {text!r}") from None
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"a share lies in 0..100%, got {text}")
    return value


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet simulate`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "simulate", help="simulate devices that run the real firmware code"
    )
    parser.add_argument("--devices", type=int, required=True, help="number of devices")
    parser.add_argument(
        "--hours", type=int, default=24, help="hours to simulate (default: %(default)s)"
    )
    parser.add_argument(
        "--hour-s", type=float, default=60, metavar="SECONDS",
        help="real seconds per simulated hour (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--drift", type=share, default=0.0, help="share of devices that drift, such as 5%%"
    )
    parser.add_argument(
        "--drift-firmware",
        metavar="VERSION",
        help="let all devices with this firmware drift instead",
    )
    parser.add_argument(
        "--drift-from", type=int, default=0, metavar="HOUR", help="hour at which drift begins"
    )
    parser.add_argument(
        "--on-hours", type=int, default=24, help="hours per day that a device has power"
    )
    parser.add_argument(
        "--reboot", type=share, default=0.0, help="probability that a device reboots, per hour"
    )
    parser.add_argument("--loss", type=share, default=0.0, help="share of messages to lose")
    parser.add_argument(
        "--duplication", type=share, default=0.0, help="share of messages to deliver twice"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    parser.add_argument(
        "--steps", type=int, default=360, help="steps per device and hour (default: %(default)s)"
    )
    parser.add_argument("--sites", type=int, default=5, help="number of sites")
    parser.add_argument(
        "--gateway", metavar="NAME", help="send batches of records through this gateway"
    )
    parser.add_argument("--batch", type=int, default=200, help="records per batch of a gateway")
    parser.add_argument("--connections", type=int, default=4, help="connections to the broker")
    parser.add_argument(
        "--drain-s", type=float, default=300, metavar="SECONDS",
        help="longest wait for acknowledgements after the last hour (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--truth",
        metavar="FILE.npz",
        help="file for the counters that the store must hold at the end",
    )
    add_broker(parser)
    parser.set_defaults(command=_simulate)
    return parser


def _simulate(args: argparse.Namespace) -> None:
    from tcuq_fleet.simulate.devices import Devices, Plan
    from tcuq_fleet.simulate.run import simulate, write_truth
    from tcuq_fleet.simulate.transport import TransportOptions

    if args.truth:
        check_output(args.truth, ".npz")
    options = TransportOptions(
        broker=broker_address(args), connections=args.connections, gateway=args.gateway,
        batch=args.batch,
        loss=args.loss, duplication=args.duplication, hour_s=args.hour_s, drain_s=args.drain_s,
    )  # fmt: skip
    plan = Plan(
        devices=args.devices, hours=args.hours, on_hours=args.on_hours, drift=args.drift,
        seed=args.seed,
        drift_firmware=args.drift_firmware, drift_from=args.drift_from, reboot=args.reboot,
        steps=args.steps, sites=args.sites, resend_s=options.simulated_s(options.resend_s),
        longest_s=options.simulated_s(options.longest_s),
    )  # fmt: skip
    devices, stop = Devices(plan), Event()
    stop_on_signal(stop.set)
    result = simulate(devices, options, stop)
    if args.truth:
        write_truth(devices, args.truth)
    facts: dict[str, Any] = {
        "devices": plan.devices, "sent": result.sent, "waiting": result.waiting,
        "refused": result.refused, "seconds": round(result.seconds, 3), "stopped": stop.is_set(),
    }  # fmt: skip
    text = (
        f"{plan.devices:,} devices sent {result.sent:,} records in {result.seconds:,.1f} s;"
        f" {result.waiting:,} wait for an acknowledgement"
    )
    print_result(args, facts, text)
