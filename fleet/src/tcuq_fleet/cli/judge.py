# SPDX-License-Identifier: Apache-2.0
"""`fleet judge`: judge which devices and groups drift, at every full interval."""

import argparse
import sys
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tcuq.cli.output import Commands, print_result
from tcuq.errors import InputError
from tcuq_fleet.cli.options import (
    add_database,
    add_http,
    add_level,
    start_http,
    stop_on_signal,
)
from tcuq_fleet.errors import FleetError

if TYPE_CHECKING:
    from tcuq_fleet.judge.judge import Judgement, Rules
    from tcuq_fleet.judge.notify import Receiver
    from tcuq_fleet.judge.retention import Retention

RETENTION_KINDS = ("judgements", "alarms", "epochs", "cohorts", "dead_letters")
LASTING_INTERVALS = 3  # after which Alertmanager drops an alert that is not repeated


def add_parser(parsers: Commands) -> argparse.ArgumentParser:
    """Add the parser of `fleet judge`."""
    parser: argparse.ArgumentParser = parsers.add_parser(
        "judge", help="decide which devices and groups drift, every hour"
    )
    add_database(parser)
    parser.add_argument(
        "--every", type=float, default=3600, help="seconds between two judgements, default 3600"
    )
    parser.add_argument("--once", action="store_true", help="judge once and exit")
    add_level(parser)
    parser.add_argument(
        "--silent-after",
        type=float,
        default=10_800,
        help="seconds without a record after which a device is silent, default 10800",
    )
    parser.add_argument(
        "--gone-after",
        type=float,
        default=30 * 86_400,
        help="seconds without a record after which a device's alarms close, default 30 days",
    )
    parser.add_argument(
        "--group-interval",
        type=float,
        default=86_400,
        help="seconds after which a group's evidence counts again, default 86400: about an epoch",
    )
    parser.add_argument(
        "--webhook",
        action="append",
        default=[],
        metavar="URL",
        help="URL that gets each alarm as JSON, repeatable",
    )
    parser.add_argument(
        "--alertmanager",
        action="append",
        default=[],
        metavar="URL",
        help="URL of an Alertmanager, repeatable",
    )
    parser.add_argument(
        "--dashboard-url", metavar="URL", help="public URL of the dashboard, for links in alerts"
    )
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="WHAT=DAYS",
        help=f"retention in days of {', '.join(RETENTION_KINDS)}; defaults 30, 365, 365, 365, 30",
    )
    add_http(parser)
    parser.set_defaults(command=_judge)
    return parser


def _judge(args: argparse.Namespace) -> None:
    from tcuq_fleet.judge.judge import Rules
    from tcuq_fleet.judge.metrics import JudgeMetrics, create_app
    from tcuq_fleet.judge.notify import alertmanager, webhook
    from tcuq_fleet.judge.schedule import judge_periodically

    if not args.every > 0:
        raise InputError(f"every must be above 0 seconds, got {args.every}")
    if args.dashboard_url and urlsplit(args.dashboard_url).scheme not in ("http", "https"):
        raise InputError(f"dashboard-url must be http:// or https://, got {args.dashboard_url!r}")
    rules = Rules(args.level, args.share, args.silent_after, args.gone_after, args.group_interval)
    retention = _retention(args.keep)
    lasting_s, dashboard = LASTING_INTERVALS * args.every, args.dashboard_url
    receivers = [webhook(url, dashboard) for url in args.webhook]
    receivers += [alertmanager(url, lasting_s, dashboard) for url in args.alertmanager]
    if args.once:
        _judge_once(args, rules, retention, receivers)
        return
    stopping, metrics = threading.Event(), JudgeMetrics()
    stop_on_signal(stopping.set)
    if args.http is not None:
        start_http(args, create_app(metrics))
    judge_periodically(
        args.database,
        rules,
        retention,
        receivers,
        every_s=args.every,
        stopping=stopping,
        on_judgement=lambda judgement: _print(args, judgement),
        metrics=metrics,
    )


def _judge_once(
    args: argparse.Namespace,
    rules: "Rules",
    retention: "Retention",
    receivers: "list[Receiver]",
) -> None:
    from tcuq_fleet.judge.notify import attempt
    from tcuq_fleet.judge.schedule import judge_now

    judgement = judge_now(args.database, rules, retention)
    if judgement is None:
        raise FleetError("another judge is running: nothing was judged")
    _print(args, judgement)
    failed = [receiver.host for receiver in receivers if not attempt(args.database, receiver)]
    if failed:
        raise FleetError(
            f"alarms could not be delivered to {', '.join(failed)}: the next judgement retries"
        )


def _print(args: argparse.Namespace, judgement: "Judgement") -> None:
    facts = {
        "judgement": judgement.judgement,
        "judged": judgement.judged.isoformat(),
        "devices": judgement.devices,
        "silent": judgement.silent,
        "gone": judgement.gone,
        "judgeable": judgement.judgeable,
        "discovered": judgement.discovered,
        "groups": judgement.groups,
        "alarms": judgement.alarms._asdict(),
    }
    text = (
        f"{judgement.judged:%Y-%m-%d %H:%M} {judgement.devices:,} devices,"
        f" {judgement.silent:,} silent, {judgement.judgeable:,} judged:"
        f" {judgement.discovered:,} drift, {judgement.groups} groups named;"
        f" alarms: {judgement.alarms.opened:,} opened, {judgement.alarms.escalated:,} escalated,"
        f" {judgement.alarms.closed:,} closed"
    )
    print_result(args, facts, text)
    sys.stdout.flush()


def _retention(options: list[str]) -> "Retention":
    from tcuq_fleet.judge.retention import Retention

    days: dict[str, int] = {}
    for option in options:
        kind, _, number = option.partition("=")
        if kind not in RETENTION_KINDS or not number.isdecimal() or not 1 <= int(number) <= 36_500:
            raise InputError(
                f"keep must be one of {', '.join(RETENTION_KINDS)}, then = and 1..36500 days,"
                f" got {option!r}"
            )
        days[kind] = int(number)
    return Retention(**days)
