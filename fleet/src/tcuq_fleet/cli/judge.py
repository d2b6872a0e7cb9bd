# SPDX-License-Identifier: Apache-2.0
"""`fleet judge`: judge which devices and groups drift, at every full interval."""

import sys
import threading
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from tcuq_fleet.cli.configuration import Command, Words
from tcuq_fleet.cli.options import DatabaseOptions, HttpOptions, stop_on_signal
from tcuq_fleet.errors import FleetError
from tcuq_fleet.judge.rules import Rules

if TYPE_CHECKING:
    from tcuq_fleet.judge.judge import Judgement
    from tcuq_fleet.judge.notify import Receiver
    from tcuq_fleet.judge.retention import Retention

RETENTION_KINDS = ("judgements", "alarms", "epochs", "cohorts", "dead_letters")
LASTING_INTERVALS = 3  # after which Alertmanager drops an alert that is not repeated


class Judge(HttpOptions, Rules, DatabaseOptions, Command):
    """Decide which devices and groups drift, every hour."""

    example: ClassVar[str] = "judge --once --database postgresql://localhost/tcuq"
    command_line_only: ClassVar[tuple[str, ...]] = ("once",)

    every: float = Field(3600, gt=0, description="seconds between two judgements")
    once: bool = Field(default=False, description="judge once and exit")
    webhook: Words = Field(
        [], repr=False, description="URL that gets each alarm as JSON, repeatable"
    )
    alertmanager: Words = Field([], repr=False, description="URL of an Alertmanager, repeatable")
    dashboard_url: str | None = Field(
        None, description="public URL of the dashboard, for links in alerts"
    )
    keep: Words = Field(
        [],
        description="retention WHAT=DAYS, repeatable; WHAT is one of judgements, alarms, epochs,"
        " cohorts, dead_letters, by default 30, 365, 365, 365, 30 days",
    )

    @field_validator("dashboard_url")
    @classmethod
    def _check_url(cls, url: str | None) -> str | None:
        if url and urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"must be http:// or https://, got {url!r}")
        return url

    @field_validator("keep")
    @classmethod
    def _check_keep(cls, options: list[str]) -> list[str]:
        for option in options:
            kind, _, days = option.partition("=")
            if kind not in RETENTION_KINDS or not days.isdecimal() or not 1 <= int(days) <= 36_500:
                raise ValueError(
                    f"must be one of {', '.join(RETENTION_KINDS)}, then = and 1..36500 days,"
                    f" got {option!r}"
                )
        return options

    def run(self) -> None:
        """Judge once, or until a signal arrives."""
        from tcuq_fleet.judge.metrics import JudgeMetrics, create_app
        from tcuq_fleet.judge.notify import alertmanager, webhook
        from tcuq_fleet.judge.schedule import judge_periodically

        retention, dashboard = self._retention(), self.dashboard_url
        receivers = [webhook(url, dashboard) for url in self.webhook]
        lasting_s = LASTING_INTERVALS * self.every
        receivers += [alertmanager(url, lasting_s, dashboard) for url in self.alertmanager]
        if self.once:
            self._judge_once(retention, receivers)
            return
        stopping, metrics = threading.Event(), JudgeMetrics()
        stop_on_signal(stopping.set)
        self.start_http(create_app(metrics), self.http, self.http_host)
        judge_periodically(
            self.databases,
            self,
            retention,
            receivers,
            every_s=self.every,
            stopping=stopping,
            on_judgement=self._print,
            metrics=metrics,
        )

    def _judge_once(self, retention: "Retention", receivers: "list[Receiver]") -> None:
        from tcuq_fleet.judge.notify import attempt
        from tcuq_fleet.judge.schedule import judge_now

        judgement = judge_now(self.databases, self, retention)
        if judgement is None:
            raise FleetError("another judge is running: nothing was judged")
        self._print(judgement)
        failed = {
            receiver.host
            for receiver in receivers
            for database in self.databases
            if not attempt(database, receiver)
        }
        if failed:
            hosts = ", ".join(sorted(failed))
            raise FleetError(
                f"alarms could not be delivered to {hosts}: the next judgement retries"
            )

    def _print(self, judgement: "Judgement") -> None:
        changes = judgement.alarms
        names = ("judgement", "devices", "silent", "gone", "judgeable", "discovered", "groups")
        facts = {name: getattr(judgement, name) for name in names} | {
            "judged": judgement.judged.isoformat(),
            "alarms": changes._asdict(),
        }
        text = (
            f"{judgement.judged:%Y-%m-%d %H:%M} {judgement.devices:,} devices,"
            f" {judgement.silent:,} silent, {judgement.judgeable:,} judged:"
            f" {judgement.discovered:,} drift, {judgement.groups} groups named;"
            f" alarms: {changes.opened:,} opened, {changes.escalated:,} escalated,"
            f" {changes.closed:,} closed"
        )
        self.print_result(facts, text)
        sys.stdout.flush()

    def _retention(self) -> "Retention":
        from tcuq_fleet.judge.retention import Retention

        days = (option.partition("=") for option in self.keep)
        return Retention(**{kind: int(number) for kind, _, number in days})
