# SPDX-License-Identifier: Apache-2.0
"""`tcuq fit`: calibrate a profile from recorded streams."""

import argparse
import json
import warnings
from dataclasses import fields

from tcuq.cli._arguments import add_options, adder, parse_lags
from tcuq.cli.output import check_output, print_result
from tcuq.errors import CalibrationWarning
from tcuq.options import GROUPS, grouped
from tcuq.stream import Stream

SENTENCE = "calibrate a profile from recorded streams"
EXAMPLE = "fit calibration.npz -o monitor.json"
# Options of groups, by the heading that `--help` gives the group.
HEADINGS = {
    "alarm": "alarm",
    "promise": "promise on correctness, by labels of the calibration stream",
    "paper": "the paper's score and threshold",
}
SINGLE = (
    "alpha", "unusual", "budget", "burst", "denied", "lags", "dimensions", "novelty", "projection",
    "seed", "alarm",
)  # fmt: skip
NOTES = {
    "paper": "Defaults are those of --preset paper; recommended: score anchored, mode guarded,"
    " warmup 0."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("calibration", "stream of normal operation, .npz or .parquet")
    add(
        "--development",
        "labelled stream with shifts, to learn weights from; the tcuq score requires it",
    )
    add("--stress", "stream of `tcuq record --stress`, to weigh novelty by, without labels")
    add("-o", "--output", "profile to write, .json", required=True)
    add(
        "--preset",
        "defaults of all options below, default recommended",
        choices=("recommended", "paper"),
        default="recommended",
    )
    add(
        "--alpha",
        "share of normal steps that may ask to be withheld, default 0.1",
        type=float,
    )
    add("--unusual", "share of alpha for inputs unlike calibration, default 0.01", type=float)
    add("--budget", "long-run share of steps that may abstain, default 0.15", type=float)
    add("--burst", "abstentions beyond the budget at once, default 16", type=float)
    add(
        "--denied",
        "what becomes of a prediction that the budget denies, default withhold",
        choices=("use", "withhold"),
    )
    add(
        "--lags",
        "past steps to compare with, comma-separated, default 3; for the paper's score 1,2,4",
        type=parse_lags,
    )
    add(
        "--dimensions",
        "most features that are looked at, default 24; for the paper's score 32",
        type=int,
    )
    add(
        "--novelty",
        "compute the novelty of each decision; default: as in the preset",
        action=argparse.BooleanOptionalAction,
    )
    add("--projection", "method that reduces more than 32 features", choices=("pca", "lda"))
    add("--seed", "seed of the random numbers in the fit", type=int)
    for group, heading in HEADINGS.items():
        section = parser.add_argument_group(heading, NOTES.get(group))
        if group == "alarm":
            section.add_argument(
                "--alarm",
                action=argparse.BooleanOptionalAction,
                help="raise an alarm when the stream changes; default: as in the preset",
            )
        add_options(section, GROUPS[group])


def run(args: argparse.Namespace) -> None:
    """Fit, save and summarise the profile."""
    from tcuq.calibrate import fit

    check_output(args.output, ".json")
    calibration = Stream.load(args.calibration)
    development, stress = (
        None if path is None else Stream.load(path) for path in (args.development, args.stress)
    )
    names = [*SINGLE, *(one.name for kind in GROUPS.values() for one in fields(kind))]
    options = grouped(args.preset, {name: getattr(args, name) for name in names})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # the summary has them
        profile = fit(calibration, development, stress=stress, preset=args.preset, **options)
    profile.save(args.output)
    text = f"{profile.summary()}\nwritten to {args.output}"
    print_result(args, json.loads(profile.to_json()), text)
