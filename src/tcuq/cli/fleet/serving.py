# SPDX-License-Identifier: Apache-2.0
"""`fleet serve`: the dashboard."""

import argparse
import contextlib
from collections.abc import Iterator

from tcuq.cli.fleet.servers import add_database
from tcuq.cli.printing import Commands
from tcuq.errors import InputError, MissingExtraError


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parser of this command."""
    serve = parsers.add_parser("serve", help="the fleet's dashboard, read-only, in a browser")
    add_database(serve)
    serve.add_argument("--host", default="127.0.0.1", help="default: this machine alone")
    serve.add_argument("--port", type=int, default=8050)
    serve.add_argument(
        "--user-header", help="where a reverse proxy says who asks, such as X-Forwarded-User"
    )
    serve.add_argument(
        "--trusted-proxy",
        action="append",
        metavar="ADDRESS",
        help="whose word on that counts, may be given again; default: 127.0.0.1 and ::1",
    )
    serve.set_defaults(command=_serve)
    yield serve


def _serve(asked: argparse.Namespace) -> None:
    try:
        from tcuq.fleet.serve import serve
        from tcuq.fleet.serve.app import LOOPBACK, check_host
    except ModuleNotFoundError as error:
        raise MissingExtraError(str(error.name), "fleet") from None
    if not 0 < asked.port < 65536:
        raise InputError(f"port must lie in 1..65535, got {asked.port}")
    check_host(asked.host, asked.user_header)
    if not asked.json:
        print(f"tcuq fleet: http://{asked.host}:{asked.port}  (Ctrl-C stops it)", flush=True)
    trusted = asked.trusted_proxy or LOOPBACK
    with contextlib.suppress(KeyboardInterrupt):  # how one stops it
        serve(asked.database, asked.host, asked.port, asked.user_header, trusted)
