# SPDX-License-Identifier: Apache-2.0
"""Schedule: judge at every full interval of the clock, then notify the receivers."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from threading import Event

from tcuq_fleet.errors import FleetError
from tcuq_fleet.judge.judge import Judgement, judge
from tcuq_fleet.judge.metrics import JudgeMetrics
from tcuq_fleet.judge.notify import Notifier, Receiver
from tcuq_fleet.judge.retention import Retention
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.store.connection import JUDGE, connected
from tcuq_fleet.store.migrate import check_schema

RETRY_S = 5.0  # while the database is away

log = logging.getLogger("tcuq_fleet.judge")


def judge_now(
    databases: Sequence[str], rules: Rules, retention: Retention, unless_within_s: float = 0
) -> Judgement | None:
    """Judge once and delete old rows; None if another judge was faster.

    All databases must answer: what is missing would look like silence, and close groups' alarms.
    """
    with ExitStack() as stack:
        connections = [stack.enter_context(connected(url, JUDGE)) for url in databases]
        for connection in connections:
            check_schema(connection)
        judgement = judge(connections, rules, unless_within_s)
        for connection in connections:
            retention.apply(connection)
    return judgement


def judge_periodically(
    databases: Sequence[str],
    rules: Rules,
    retention: Retention,
    receivers: Sequence[Receiver],
    *,
    every_s: float,
    stopping: Event,
    on_judgement: Callable[[Judgement], None],
    metrics: JudgeMetrics | None = None,
) -> None:
    """Judge until `stopping` is set. Of two judges of one store, only one judges at a time.

    A receiver gets the alarms of each database by itself.
    """
    metrics = metrics or JudgeMetrics()
    metrics.interval.set(every_s)
    notifiers = [
        Notifier(database, each, metrics.delivered.labels(each.label).set_to_current_time)
        for each in receivers
        for database in databases
    ]
    for notifier in notifiers:
        notifier.start()
    while not stopping.is_set():
        began = time.monotonic()
        try:
            judgement = judge_now(databases, rules, retention, every_s / 2)
        except FleetError as error:
            log.warning("not judged yet: %s", error)
            metrics.fail()
            stopping.wait(RETRY_S)
            continue
        metrics.observe(judgement, time.monotonic() - began)
        if judgement is not None:
            on_judgement(judgement)
        for notifier in notifiers:
            notifier.notify()
        stopping.wait(every_s - time.time() % every_s)
    for notifier in notifiers:
        notifier.stop()
