# SPDX-License-Identifier: Apache-2.0
"""`tcuq fit`: calibrate a profile from recorded streams."""

import argparse
import json
import warnings

from tcuq.cli._arguments import parse_lags
from tcuq.cli._output import Commands, check_output, print_result
from tcuq.errors import CalibrationWarning
from tcuq.stream import Stream

OPTIONS = (
    "alpha", "budget", "burst", "score", "signs", "mix", "blend", "mode", "warmup", "ledger_step",
    "lags", "alarm", "steps_per_false_alarm", "epoch_steps", "block_factor", "projection", "seed",
    "accepted_error", "confidence", "independent",
)  # fmt: skip


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "fit", help="calibrate a profile from recorded streams"
    )
    parser.add_argument("calibration", help="in-distribution stream, .npz or .parquet")
    parser.add_argument(
        "--development", help="labelled stream with shifts; the tcuq score needs it"
    )
    parser.add_argument("-o", "--output", required=True, help="profile to write, .json")
    parser.add_argument("--preset", choices=("recommended", "paper"), default="recommended")
    parser.add_argument("--alpha", type=float, help="rate of exceedances, default 0.1")
    parser.add_argument(
        "--accepted-error",
        type=float,
        help="promise that at most this share of accepted predictions is wrong; needs labels",
    )
    parser.add_argument("--confidence", type=float, help="of that promise, default 0.95")
    parser.add_argument(
        "--independent",
        choices=("recordings", "steps"),
        help="what counts as independent for it; recordings if there are several",
    )
    parser.add_argument(
        "--budget", type=float, help="share of steps that may abstain, default 0.15"
    )
    parser.add_argument("--burst", type=float, help="abstentions beyond the budget, default 16")
    parser.add_argument("--score", choices=("anchored", "tcuq"), help="how signals become a risk")
    parser.add_argument("--signs", choices=("free", "monotone"), help="of the tcuq score's weights")
    parser.add_argument(
        "--mix",
        type=float,
        help="of the tcuq score: share of the signals against low confidence, default 0.7",
    )
    parser.add_argument(
        "--blend", type=float, help="of doubt: share of confidence against margin, default 0.5"
    )
    parser.add_argument(
        "--mode", choices=("guarded", "adaptive"), help="how the threshold follows the stream"
    )
    parser.add_argument(
        "--warmup", type=int, help="steps for which an adaptive threshold is guarded"
    )
    parser.add_argument(
        "--ledger-step", type=float, help="how fast the threshold moves, in risk, default 1/128"
    )
    parser.add_argument("--lags", type=parse_lags, help="comma-separated, default 1,2,4")
    parser.add_argument(
        "--alarm",
        action=argparse.BooleanOptionalAction,
        help="watch for a changed stream; the preset's choice by default",
    )
    parser.add_argument(
        "--steps-per-false-alarm", type=int, help="mean number of steps, default 1048576"
    )
    parser.add_argument(
        "--epoch-steps", type=int, help="steps of an epoch, about a day's, default 65536"
    )
    parser.add_argument(
        "--block-factor", type=int, choices=(1, 2, 4), help="multiply the alarm's block lengths"
    )
    parser.add_argument("--projection", choices=("pca", "lda"), help="for features wider than 32")
    parser.add_argument("--seed", type=int, help="of everything random in the fit")
    return parser


def run(args: argparse.Namespace) -> None:
    """Fit, save and summarise the profile."""
    from tcuq.calibrate import fit

    check_output(args.output, ".json")
    calibration = Stream.load(args.calibration)
    development = None if args.development is None else Stream.load(args.development)
    options = {name: getattr(args, name) for name in OPTIONS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # the summary has them
        profile = fit(calibration, development, preset=args.preset, **options)
    profile.save(args.output)
    text = f"{profile.summary()}\nwritten to {args.output}"
    print_result(args, json.loads(profile.to_json()), text)
