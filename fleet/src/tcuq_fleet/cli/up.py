# SPDX-License-Identifier: Apache-2.0
"""`fleet up`: run the whole fleet on one machine."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.options import PASSWORD_FILE, DatabaseUrl, Port, stop_on_signal
from tcuq_fleet.cli.simulate import Simulate


class Up(Command):
    """Run servers, worker, judge and dashboard on this machine."""

    example: ClassVar[str] = "up --folder tcuq-fleet"

    folder: str = Field("tcuq-fleet", description="folder for the data")
    database: DatabaseUrl | None = Field(
        None, repr=False, description="use this PostgreSQL instead: postgresql://..."
    )
    database_password_file: str | None = Field(None, description=PASSWORD_FILE)
    broker: str | None = Field(None, description="use this broker instead: mqtt://host[:port]")
    broker_port: Port = Field(1883, description="port of the private broker")
    ingest_port: Port = Field(8049, description="port of the worker's health and metrics")
    dashboard_port: Port = Field(8050, description="port of the dashboard")
    every: float = Field(15, gt=0, description="seconds between two judgements")

    def run(self) -> None:
        """Start everything and watch it until a signal arrives."""
        from tcuq_fleet.up import Ports, Supervisor

        ports = Ports(self.broker_port, self.ingest_port, self.dashboard_port)
        supervisor = Supervisor(
            Path(self.folder).resolve(),
            ports,
            self.database,
            self.database_password_file,
            self.broker,
            self.every,
        )
        stop_on_signal(supervisor.stopping.set)
        try:
            supervisor.start()
            dashboard = f"http://127.0.0.1:{ports.dashboard}"
            broker = self.broker or f"mqtt://127.0.0.1:{ports.broker}"
            simulate = f"tcuq fleet {Simulate.example} --broker {broker}"
            self.print_result(
                {"dashboard": dashboard, "broker": broker, "folder": str(supervisor.folder)},
                f"dashboard  {dashboard}\nbroker     {broker}\nfolder     {supervisor.folder}\n"
                f"Devices to look at:  {simulate}\nCtrl-C stops everything.",
            )
            supervisor.watch()
        finally:
            supervisor.stop()
