# SPDX-License-Identifier: Apache-2.0
"""Options that several `fleet` commands have: servers, keys and certificates; signals."""

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode

from tcuq.errors import InputError
from tcuq.watch.mqtt import PORTS
from tcuq_fleet.cli.secrets import check_no_password, with_password

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tcuq.telemetry import Keys
    from tcuq_fleet.http_server import BoundedServer
    from tcuq_fleet.mqtt import BrokerAddress

MAX_FILE_BYTES = 1 << 20

Port = Annotated[int, Field(ge=1, le=65535)]
DatabaseUrl = Annotated[str, AfterValidator(check_no_password)]


def _split_urls(value: object) -> object:
    """Split what the environment or the file names; a string of keywords holds spaces itself."""
    if isinstance(value, str):
        return value.split() if "://" in value else [value]
    return value


DatabaseUrls = Annotated[list[DatabaseUrl], NoDecode, BeforeValidator(_split_urls)]
PASSWORD_FILE = "file of mode 0600 that holds the database's password"  # noqa: S105 - no password


class DatabaseOptions(BaseModel):
    """Where PostgreSQL is, and the password's file."""

    database: DatabaseUrls = Field(
        ["postgresql://localhost/tcuq"],
        repr=False,
        min_length=1,
        description="URL of PostgreSQL, repeatable: with several each holds a share of the devices",
    )
    database_password_file: str | None = Field(None, description=PASSWORD_FILE)

    @property
    def databases(self) -> list[str]:
        """The connection strings, with the password of the file if one is named."""
        if self.database_password_file is None:
            return self.database
        return [with_password(url, self.database_password_file) for url in self.database]


class BrokerOptions(BaseModel):
    """Where the broker is, and the certificates for it."""

    broker: str = Field(
        "mqtt://127.0.0.1", description="URL of the broker: mqtt://host[:port], or mqtts:// for TLS"
    )
    ca: str | None = Field(
        None, description="PEM file of the CA that signed the broker's certificate"
    )
    certificate: str | None = Field(None, description="PEM file of the client's certificate")
    key: str | None = Field(None, description="PEM file of the client's private key")

    @model_validator(mode="after")
    def _check_broker(self) -> Self:
        self.broker_address()
        return self

    def broker_address(self) -> "BrokerAddress":
        """Return the broker's address with its certificates."""
        from tcuq_fleet.mqtt import BrokerAddress

        parts = urlsplit(self.broker)
        try:
            port = parts.port
        except ValueError as error:
            raise ValueError(f"broker: {error}") from None
        if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
            raise ValueError(f"broker must be mqtt://host[:port] or mqtts://, got {self.broker!r}")
        if (parts.scheme == "mqtts") != (self.ca is not None):
            raise ValueError("mqtts:// and --ca go together: one needs the other")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("--certificate and --key go together: one needs the other")
        return BrokerAddress(
            parts.hostname, port or PORTS[parts.scheme], self.ca, self.certificate, self.key
        )


class HttpsOptions(BaseModel):
    """The certificate of an HTTP server."""

    http_certificate: str | None = Field(
        None, description="PEM file of the server's certificate: serve HTTPS"
    )
    http_key: str | None = Field(None, description="PEM file of the server's private key")


class HttpOptions(HttpsOptions):
    """A process's HTTP server."""

    http: Port | None = Field(
        None,
        description="port of an HTTP server for health and metrics",
    )
    http_host: str = Field(
        "127.0.0.1", description="address to listen on; other machines are served over TLS only"
    )

    def start_http(
        self, app: "FastAPI", port: int | None, host: str, max_requests: int | None = None
    ) -> "BoundedServer | None":
        """Serve an application in its own thread, if it has a port; return its server."""
        from tcuq_fleet.http_server import MAX_REQUESTS, create_server

        if port is None:
            return None
        server = create_server(
            app, host, port, self.http_certificate, self.http_key,
            max_requests=max_requests or MAX_REQUESTS,
        )  # fmt: skip
        threading.Thread(target=server.run, daemon=True).start()
        return server


class KeysOptions(BaseModel):
    """The file of master keys."""

    keys: str | None = Field(
        None, description='JSON file of keys, {"1": "hex digits"}: records must be signed'
    )

    def read_keys(self) -> "Keys | None":
        """Read the master keys; errors never show the file's content, which is secret."""
        from tcuq.telemetry import Keys

        if self.keys is None:
            return None
        text = Path(self.keys).read_bytes()[: MAX_FILE_BYTES + 1]
        try:
            document = json.loads(text[:MAX_FILE_BYTES])
            return Keys({int(key_id): bytes.fromhex(digits) for key_id, digits in document.items()})
        except (ValueError, TypeError, AttributeError):
            raise InputError(
                f'{self.keys} must be {{"1": "hexadecimal digits", ...}}, at least 16 bytes per key'
            ) from None


def stop_on_signal(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM, on Ctrl-C and when the terminal is closed."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup's
            signal.signal(number, lambda *_: stop())
