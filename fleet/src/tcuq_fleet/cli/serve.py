# SPDX-License-Identifier: Apache-2.0
"""`fleet serve`: serve the dashboard."""

import argparse
import contextlib

from tcuq.cli.output import Commands
from tcuq.errors import InputError
from tcuq_fleet.cli.options import add_database, add_http_certificate


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet serve`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "serve", help="serve the fleet's dashboard"
    )
    add_database(parser)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; others than this machine's need TLS and --user-header",
    )
    parser.add_argument("--port", type=int, default=8050, help="port to listen on, default 8050")
    parser.add_argument(
        "--user-header",
        help="header in which a reverse proxy names the user, e.g. X-Forwarded-User",
    )
    parser.add_argument(
        "--groups-header",
        help="header in which it names the user's groups, e.g. X-Forwarded-Groups: a user sees the"
        " sites of owners with these names",
    )
    parser.add_argument(
        "--operators",
        default="operators",
        metavar="GROUP",
        help="group that sees all sites and may acknowledge, mute, retire and release;"
        " default: operators",
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        metavar="ADDRESS",
        help="address of a proxy whose headers are trusted, repeatable; default: 127.0.0.1 and ::1",
    )
    add_http_certificate(parser)
    parser.set_defaults(command=_serve)
    return parser


def _serve(args: argparse.Namespace) -> None:
    from tcuq_fleet.serve import serve
    from tcuq_fleet.serve.app import LOOPBACK, check_host
    from tcuq_fleet.serve.viewer import ProxyHeaders

    if not 0 < args.port < 65536:
        raise InputError(f"port must lie in 1..65535, got {args.port}")
    check_host(args.host, args.user_header)
    headers = ProxyHeaders(args.user_header, args.groups_header, args.operators)
    if not args.json:
        print(f"tcuq fleet: http://{args.host}:{args.port}  (Ctrl-C stops it)", flush=True)
    trusted = args.trusted_proxy or LOOPBACK
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C stops it
        serve(
            args.database,
            host=args.host,
            port=args.port,
            headers=headers,
            trusted=trusted,
            certificate=args.http_certificate,
            key=args.http_key,
        )
