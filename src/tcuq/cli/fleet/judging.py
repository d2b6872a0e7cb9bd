# SPDX-License-Identifier: Apache-2.0
"""`fleet judge` and `fleet report`: which devices and groups drift."""

import argparse
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tcuq.cli.fleet.servers import add_database, read_keys, stop_by
from tcuq.cli.printing import Commands, say
from tcuq.errors import FleetError, InputError

if TYPE_CHECKING:
    from tcuq.fleet.judge.judgements import Retention
    from tcuq.fleet.judge.notify import Receiver
    from tcuq.fleet.judge.verdict import Judgement, Rules

KEPT = ("judgements", "alarms", "epochs", "cohorts", "letters")
LASTING = 3  # judgements for which an alert stands if none comes


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    judge = parsers.add_parser("judge", help="say which devices and groups drift, every hour")
    add_database(judge)
    judge.add_argument("--every", type=float, default=3600, help="seconds, default 3600")
    judge.add_argument("--once", action="store_true", help="judge now, and end")
    _add_level(judge)
    judge.add_argument(
        "--silent-after", type=float, default=10_800, help="seconds without a record, default 10800"
    )
    judge.add_argument("--epoch", type=float, default=86_400, help="seconds, default 86400: a day")
    judge.add_argument("--webhook", action="append", default=[], metavar="URL")
    judge.add_argument("--alertmanager", action="append", default=[], metavar="URL")
    judge.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="WHAT=DAYS",
        help=f"days that {', '.join(KEPT)} are kept; defaults 30, 365, 365, 365, 30",
    )
    judge.set_defaults(command=_judge)
    yield judge
    report = parsers.add_parser("report", help="judge a folder of record files, without any server")
    report.add_argument("folder", help="files of records; a folder in it is a site")
    report.add_argument("--keys", help='JSON: {"1": "hex digits"}; then records must be signed')
    _add_level(report)
    report.set_defaults(command=_report)
    yield report


def _add_level(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level", type=float, default=0.1, help="of the false-discovery rate, default 0.1"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.1,
        help="of a group's devices that must drift before the group does, default 0.1",
    )


def _judge(asked: argparse.Namespace) -> None:
    from tcuq.fleet.judge.notify import alertmanager, webhook
    from tcuq.fleet.judge.rounds import judge_on
    from tcuq.fleet.judge.verdict import Rules

    if not asked.every > 0:
        raise InputError(f"every must be above 0 seconds, got {asked.every}")
    rules = Rules(asked.level, asked.share, asked.silent_after, asked.epoch)
    kept = _retention(asked.keep)
    receivers = [webhook(url) for url in asked.webhook]
    receivers += [alertmanager(url, LASTING * asked.every) for url in asked.alertmanager]
    if asked.once:
        _judge_once(asked, rules, kept, receivers)
        return
    stopping = threading.Event()
    stop_by(stopping.set)
    judge_on(
        asked.database,
        rules,
        kept,
        receivers,
        every_s=asked.every,
        stopping=stopping,
        heard=lambda said: _tell(asked, said),
    )


def _judge_once(
    asked: argparse.Namespace, rules: "Rules", kept: "Retention", receivers: "list[Receiver]"
) -> None:
    from tcuq.fleet.judge.notify import attempt
    from tcuq.fleet.judge.rounds import judge_now

    said = judge_now(asked.database, rules, kept)
    if said is None:
        raise FleetError("another judge is at work: nothing was judged")
    _tell(asked, said)
    untold = [receiver.place for receiver in receivers if not attempt(asked.database, receiver)]
    if untold:
        raise FleetError(f"{', '.join(untold)} could not be told: the next judgement tells it")


def _tell(asked: argparse.Namespace, said: "Judgement") -> None:
    facts = {
        "judgement": said.judgement,
        "judged": said.judged.isoformat(),
        "devices": said.devices,
        "silent": said.silent,
        "judgeable": said.judgeable,
        "discovered": said.discovered,
        "groups": said.groups,
        "alarms": said.alarms._asdict(),
    }
    text = (
        f"{said.judged:%Y-%m-%d %H:%M} {said.devices:,} devices, {said.silent:,} silent,"
        f" {said.judgeable:,} judged: {said.discovered:,} drift, {said.groups} groups named;"
        f" alarms: {said.alarms.opened:,} opened, {said.alarms.escalated:,} escalated,"
        f" {said.alarms.closed:,} closed"
    )
    say(asked, facts, text)
    sys.stdout.flush()


def _retention(asked: list[str]) -> "Retention":
    from tcuq.fleet.judge.judgements import Retention

    days: dict[str, int] = {}
    for given in asked:
        what, _, number = given.partition("=")
        if what not in KEPT or not number.isdecimal() or not 1 <= int(number) <= 36_500:
            raise InputError(
                f"keep must be one of {', '.join(KEPT)}, then = and 1..36500 days, got {given!r}"
            )
        days[what] = int(number)
    return Retention(**days)


def _report(asked: argparse.Namespace) -> None:
    from tcuq.fleet.report.folder import read_folder
    from tcuq.fleet.report.summary import report, text

    if not 0 <= asked.share <= 1:
        raise InputError(f"share must lie in [0, 1], got {asked.share}")
    said = report(read_folder(Path(asked.folder), read_keys(asked.keys)), asked.level, asked.share)
    say(asked, said, text(said))
