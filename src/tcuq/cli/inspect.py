# SPDX-License-Identifier: Apache-2.0
"""`tcuq inspect`: describe a profile or a recorded stream."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import Any

from tcuq._columns import UNKNOWN
from tcuq.cli._arguments import adder
from tcuq.cli.output import print_result
from tcuq.errors import InputError, MissingExtraError
from tcuq.profile import Profile
from tcuq.profile.settings import Finding
from tcuq.profile.summary import MOST_FINDINGS
from tcuq.recording import ENDINGS
from tcuq.stream import Stream

SENTENCE = "describe a profile or a recorded stream, and name mistakes in it"
EXAMPLE = "inspect monitor.json"
INDENT = " " * 11


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("file", "profile (.json) or stream (.npz or .parquet)")


def run(args: argparse.Namespace) -> None:
    """Print a profile's summary, or a stream's shape, counts, hash and mistakes."""
    if Path(args.file).suffix == ".json":
        profile = Profile.load(args.file)
        print_result(args, json.loads(profile.to_json()), profile.summary())
        return
    if Path(args.file).suffix not in ENDINGS:
        ends = ", ".join(ENDINGS)
        raise InputError(f"{args.file}: must end in .json (a profile) or one of {ends} (a stream)")
    stream = Stream.load(args.file)
    findings = _findings(stream)
    facts: dict[str, Any] = {
        "steps": len(stream),
        "recordings": len(stream.starts),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "health": list(stream.health_names),
        "distinct": stream.distinct,
        "labelled": 0 if stream.labels is None else int((stream.labels != UNKNOWN).sum()),
        "shifted": None if stream.shifted is None else int(stream.shifted.sum()),
        "sha256": stream.sha256,
    }
    shown = facts | {"health": ", ".join(stream.health_names) or None}
    lines = [f"{name:<10} {value}" for name, value in shown.items()]
    for finding in findings[:MOST_FINDINGS]:
        lines += wrap(finding.sentence, 100, initial_indent="warning    ", subsequent_indent=INDENT)
    facts["findings"] = [asdict(finding) for finding in findings]
    print_result(args, facts, "\n".join(lines))


def _findings(stream: Stream) -> tuple[Finding, ...]:
    """Mistakes in the stream, as far as the installed libraries can tell."""
    try:
        from tcuq.calibrate import diagnose
    except MissingExtraError as error:
        return (Finding("not_checked", f"The stream was not checked for mistakes: {error}."),)
    return diagnose(stream)
