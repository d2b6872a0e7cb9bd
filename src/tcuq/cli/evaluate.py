# SPDX-License-Identifier: Apache-2.0
"""`tcuq evaluate`: measure a profile on a labelled stream."""

import argparse

from tcuq.cli._arguments import add_measures, adder
from tcuq.cli.output import alarm_lines, print_result, trace_facts
from tcuq.profile import Profile
from tcuq.stream import Stream

SENTENCE = "measure a profile on a labelled stream"
EXAMPLE = "evaluate monitor.json field.npz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("profile", "profile, .json")
    add("stream", "recorded stream with labels, .npz or .parquet")
    add_measures(parser)
    add("--seed", "seed of the bootstrap, default 0", type=int, default=0)


def run(args: argparse.Namespace) -> None:
    """Evaluate the profile and print every measure."""
    from tcuq.evaluation import as_json, evaluate, lines

    profile, stream = Profile.load(args.profile), Stream.load(args.stream)
    evaluation = evaluate(profile, stream, window=args.window, rounds=args.rounds, seed=args.seed)
    facts = trace_facts(evaluation.trace) | as_json(evaluation)
    alarms = alarm_lines(profile, stream, evaluation.trace)
    print_result(args, facts, "\n".join([*lines(evaluation), "", *alarms]))
