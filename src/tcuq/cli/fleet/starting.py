# SPDX-License-Identifier: Apache-2.0
"""`fleet up`: everything on one machine."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tcuq.cli.fleet.servers import stop_by
from tcuq.cli.printing import Commands, say

FOLDER = "tcuq-fleet"


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    up = parsers.add_parser("up", help="servers, worker, judge and dashboard on this machine")
    up.add_argument("--folder", default=FOLDER, help=f"for its data, default ./{FOLDER}")
    up.add_argument("--database", help="a PostgreSQL of your own: postgresql://...")
    up.add_argument("--broker", help="a broker of your own: mqtt://host[:port]")
    up.add_argument("--broker-port", type=int, default=1883)
    up.add_argument("--database-port", type=int, default=5433)
    up.add_argument("--ingest-port", type=int, default=8049)
    up.add_argument("--dashboard-port", type=int, default=8050)
    up.add_argument("--every", type=float, default=15, help="seconds between two judgements")
    up.set_defaults(command=_up)
    yield up


def _up(asked: argparse.Namespace) -> None:
    from tcuq.fleet.up import Fleet, Ports

    ports = Ports(asked.broker_port, asked.database_port, asked.ingest_port, asked.dashboard_port)
    fleet = Fleet(Path(asked.folder).resolve(), ports, asked.database, asked.broker, asked.every)
    stop_by(fleet.stopping.set)
    try:
        fleet.start()
        dashboard = f"http://127.0.0.1:{ports.dashboard}"
        broker = asked.broker or f"mqtt://127.0.0.1:{ports.broker}"
        simulate = f"tcuq fleet simulate --broker {broker} --devices 2000 --drift 5% --hour-s 1"
        say(
            asked,
            {"dashboard": dashboard, "broker": broker, "folder": str(fleet.folder)},
            f"dashboard  {dashboard}\nbroker     {broker}\nfolder     {fleet.folder}\n"
            f"Devices to look at:  {simulate}\nCtrl-C stops everything.",
        )
        fleet.watch()
    finally:
        fleet.stop()
