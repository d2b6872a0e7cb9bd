# SPDX-License-Identifier: Apache-2.0
"""`fleet serve`: serve the dashboard."""

import contextlib
from typing import ClassVar

from pydantic import Field

from tcuq_fleet.cli.configuration import Command, Words
from tcuq_fleet.cli.options import DatabaseOptions, HttpOptions, Port


class Serve(HttpOptions, DatabaseOptions, Command):
    """Serve the fleet's dashboard."""

    example: ClassVar[str] = "serve --port 8050"

    host: str = Field(
        "127.0.0.1",
        description="address to listen on; others than this machine's need TLS and --user-header",
    )
    port: Port = Field(8050, description="port to listen on")
    user_header: str | None = Field(
        None, description="header in which a reverse proxy names the user, e.g. X-Forwarded-User"
    )
    groups_header: str | None = Field(
        None,
        description="header in which it names the user's groups, e.g. X-Forwarded-Groups: a user"
        " sees the sites of owners with these names",
    )
    operators: str = Field(
        "operators",
        description="group that sees all sites and may acknowledge, mute, retire and release",
    )
    trusted_proxy: Words = Field(
        ["127.0.0.1", "::1"],
        description="address of a proxy whose headers are trusted, repeatable",
    )

    def run(self) -> None:
        """Serve until it is interrupted."""
        from tcuq_fleet.http_server import create_server
        from tcuq_fleet.serve.app import check_host, create_app, monitoring_app
        from tcuq_fleet.serve.viewer import ProxyHeaders

        check_host(self.host, self.user_header)
        headers = ProxyHeaders(self.user_header, self.groups_header, self.operators)
        app = create_app(self.databases, headers, self.trusted_proxy)
        certificate = self.http_certificate
        server = create_server(app, self.host, self.port, certificate, self.http_key)
        self.start_http(monitoring_app(app), self.http, self.http_host)
        if not self.json_requested:
            scheme = "http" if certificate is None else "https"
            print(f"tcuq fleet: {scheme}://{self.host}:{self.port}  (Ctrl-C stops it)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.run()
