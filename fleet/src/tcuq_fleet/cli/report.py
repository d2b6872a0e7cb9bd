# SPDX-License-Identifier: Apache-2.0
"""`fleet report`: judge a folder of record files, without any server."""

from pathlib import Path
from typing import ClassVar

from pydantic import Field
from pydantic_settings import CliPositionalArg

from tcuq_fleet.cli.configuration import Command
from tcuq_fleet.cli.options import KeysOptions
from tcuq_fleet.judge.rules import Levels


class Report(Levels, KeysOptions, Command):
    """Judge a folder of record files, without any server."""

    example: ClassVar[str] = "report records"
    command_line_only: ClassVar[tuple[str, ...]] = ("folder",)

    folder: CliPositionalArg[str] = Field(
        description="folder of record files; each folder in it is one site"
    )

    def run(self) -> None:
        """Read, judge and print."""
        from tcuq_fleet.report.folder import read_folder
        from tcuq_fleet.report.summary import render_text, report

        fleet = read_folder(Path(self.folder), self.read_keys())
        summary = report(fleet, self.level, self.share)
        self.print_result(summary, render_text(summary))
