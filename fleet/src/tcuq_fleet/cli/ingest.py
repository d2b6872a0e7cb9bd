# SPDX-License-Identifier: Apache-2.0
"""`fleet ingest`: a worker from the broker to the store."""

from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from pydantic import Field, model_validator

from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.options import (
    BrokerOptions,
    DatabaseOptions,
    HttpOptions,
    KeysOptions,
    Port,
    stop_on_signal,
)
from tcuq_fleet.http_listener import MAX_OPEN
from tcuq_fleet.store.claims import Claims

if TYPE_CHECKING:
    from tcuq.telemetry import Keys
    from tcuq_fleet.http_server import BoundedServer
    from tcuq_fleet.ingest.validation import Validator
    from tcuq_fleet.ingest.worker import Worker

Count = Annotated[int, Field(ge=1, le=60_000)]


class Ingest(HttpOptions, Claims, KeysOptions, BrokerOptions, DatabaseOptions, Command):
    """Run a worker that stores records from the broker in PostgreSQL."""

    example: ClassVar[str] = "ingest --broker mqtt://127.0.0.1 --http 8049"

    records_http: Port | None = Field(
        None, description="port of an HTTP server for gateways' records"
    )
    records_host: str = Field(
        "127.0.0.1", description="address for gateways' records; other machines need TLS"
    )
    mount_point: str = Field(
        "", pattern="^([a-z0-9-]+/)?$",
        description="the mount_point of the broker's listener for devices, such as devices/",
    )  # fmt: skip
    accept_unsigned: bool = Field(
        default=False,
        description="with --keys: also accept records of devices that never signed one",
    )
    quota: Count = Field(120, description="most messages per device and hour")
    gateway_quota: Count = Field(20_000, description="most messages per gateway and hour")
    batch: Count = Field(20_000, description="most records per transaction of a database")

    @model_validator(mode="after")
    def _check_keys(self) -> Self:
        if self.accept_unsigned and self.keys is None:
            raise ValueError("--accept-unsigned needs --keys: without keys no record may be signed")
        return self

    def run(self) -> None:
        """Store records until a signal arrives."""
        from tcuq_fleet.ingest.broker_watch import FILTERS
        from tcuq_fleet.ingest.worker import Limits, Worker
        from tcuq_fleet.mqtt import MqttClient
        from tcuq_fleet.wire import shared_filters

        address, keys = self.broker_address(), self.read_keys()
        filters = shared_filters(self.mount_point)
        worker = Worker(
            self.databases,
            lambda: MqttClient(address, filters, optional=FILTERS, mount_point=self.mount_point),
            validator=self._validator(keys, authenticated=address.certificate is not None),
            claims=self,
            limits=Limits(records=self.batch * len(self.databases)),
            mount_point=self.mount_point,
        )
        stop_on_signal(worker.stopping.set)
        servers = self._start_servers(worker, keys)
        worker.run()
        for server in servers:
            server.should_exit = True
        records = int(worker.metrics.registry.get_sample_value("tcuq_ingest_records_total") or 0)
        self.print_result({"records": records}, f"stopped after {records:,} records")

    def _validator(self, keys: "Keys | None", *, authenticated: bool) -> "Validator":
        from tcuq_fleet.ingest.validation import Validator

        return Validator(
            keys,
            self.quota,
            self.gateway_quota,
            accept_unsigned=self.accept_unsigned,
            authenticated=authenticated,
        )

    def _start_servers(self, worker: "Worker", keys: "Keys | None") -> "list[BoundedServer]":
        """Start the operators' and the gateways' servers that have a port."""
        from tcuq_fleet.ingest.http_ingest import HttpIngest, create_app, create_health_app

        metrics = worker.metrics
        servers = [self.start_http(create_health_app(metrics), self.http, self.http_host)]
        if self.records_http is not None:
            ingest = HttpIngest(self.databases, self._validator(keys, authenticated=False), self)
            app = create_app(ingest, metrics)
            server = self.start_http(app, self.records_http, self.records_host, MAX_OPEN)
            metrics.connections_refused.set_function(lambda: server.refused if server else 0)
            servers.append(server)
        return [server for server in servers if server is not None]
