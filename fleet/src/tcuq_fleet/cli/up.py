# SPDX-License-Identifier: Apache-2.0
"""`fleet up`: run the whole fleet on one machine."""

import argparse
from pathlib import Path

from tcuq.cli.output import Commands, print_result
from tcuq_fleet.cli.options import stop_on_signal

FOLDER = "tcuq-fleet"


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet up`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "up", help="run servers, worker, judge and dashboard on this machine"
    )
    parser.add_argument("--folder", default=FOLDER, help=f"folder for the data, default ./{FOLDER}")
    parser.add_argument("--database", help="use this PostgreSQL instead: postgresql://...")
    parser.add_argument(
        "--database-password-file",
        metavar="FILE",
        help="file of mode 0600 that holds the database's password",
    )
    parser.add_argument("--broker", help="use this broker instead: mqtt://host[:port]")
    parser.add_argument("--broker-port", type=int, default=1883, help="port of the private broker")
    parser.add_argument(
        "--ingest-port", type=int, default=8049, help="port of the worker's health and metrics"
    )
    parser.add_argument("--dashboard-port", type=int, default=8050, help="port of the dashboard")
    parser.add_argument("--every", type=float, default=15, help="seconds between two judgements")
    parser.set_defaults(command=_up)
    return parser


def _up(args: argparse.Namespace) -> None:
    from tcuq_fleet.up import Ports, Supervisor

    ports = Ports(args.broker_port, args.ingest_port, args.dashboard_port)
    supervisor = Supervisor(
        Path(args.folder).resolve(),
        ports,
        args.database,
        args.database_password_file,
        args.broker,
        args.every,
    )
    stop_on_signal(supervisor.stopping.set)
    try:
        supervisor.start()
        dashboard = f"http://127.0.0.1:{ports.dashboard}"
        broker = args.broker or f"mqtt://127.0.0.1:{ports.broker}"
        simulate = f"tcuq fleet simulate --broker {broker} --devices 2000 --drift 5% --hour-s 1"
        print_result(
            args,
            {"dashboard": dashboard, "broker": broker, "folder": str(supervisor.folder)},
            f"dashboard  {dashboard}\nbroker     {broker}\nfolder     {supervisor.folder}\n"
            f"Devices to look at:  {simulate}\nCtrl-C stops everything.",
        )
        supervisor.watch()
    finally:
        supervisor.stop()
