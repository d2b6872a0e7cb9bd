# SPDX-License-Identifier: Apache-2.0
"""`tcuq evaluate`: measure a profile on a labelled stream."""

import argparse

from tcuq.cli._arguments import add_measures
from tcuq.cli.output import Commands, add_command, alarm_lines, print_result, trace_facts
from tcuq.profile import Profile
from tcuq.stream import Stream


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser = add_command(
        commands,
        "evaluate",
        "measure a profile on a labelled stream",
        "evaluate monitor.json field.npz",
    )
    parser.add_argument("profile", help="profile, .json")
    parser.add_argument("stream", help="recorded stream with labels, .npz or .parquet")
    add_measures(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap, default 0")
    return parser


def run(args: argparse.Namespace) -> None:
    """Evaluate the profile and print every measure."""
    from tcuq.evaluation import as_json, evaluate, lines

    profile, stream = Profile.load(args.profile), Stream.load(args.stream)
    evaluation = evaluate(profile, stream, window=args.window, rounds=args.rounds, seed=args.seed)
    facts = trace_facts(evaluation.trace) | as_json(evaluation)
    alarms = alarm_lines(profile, stream, evaluation.trace)
    print_result(args, facts, "\n".join([*lines(evaluation), "", *alarms]))
