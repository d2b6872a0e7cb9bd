# SPDX-License-Identifier: Apache-2.0
"""`tcuq inspect`: describe a profile or a recorded stream."""

import argparse
import json
from pathlib import Path

from tcuq.cli._output import Commands, print_result
from tcuq.profile import Profile
from tcuq.profile.summary import summary
from tcuq.recording import load_stream


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "inspect", help="describe a profile or a recorded stream"
    )
    parser.add_argument("file", help="profile (.json) or stream (.npz or .parquet)")
    return parser


def run(args: argparse.Namespace) -> None:
    """Print a profile's summary, or a stream's shape, counts and hash."""
    if Path(args.file).suffix == ".json":
        profile = Profile.load(args.file)
        print_result(args, json.loads(profile.to_json()), summary(profile))
        return
    stream = load_stream(args.file)
    facts = {
        "steps": len(stream),
        "recordings": len(stream.starts),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "distinct": stream.distinct,
        "labelled": 0 if stream.labels is None else int((stream.labels >= 0).sum()),
        "shifted": None if stream.shifted is None else int(stream.shifted.sum()),
        "sha256": stream.sha256,
    }
    print_result(args, facts, "\n".join(f"{name:<10} {value}" for name, value in facts.items()))
