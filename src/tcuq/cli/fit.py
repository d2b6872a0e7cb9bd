# SPDX-License-Identifier: Apache-2.0
"""`tcuq fit`: calibrate a profile from recorded streams."""

import argparse
import json
import warnings

from tcuq.cli._arguments import parse_lags
from tcuq.cli.output import Commands, add_command, check_output, print_result
from tcuq.errors import CalibrationWarning
from tcuq.stream import Stream

OPTIONS = (
    "alpha", "budget", "burst", "score", "signs", "mix", "blend", "mode", "warmup", "ledger_step",
    "lags", "alarm", "steps_per_false_alarm", "epoch_steps", "block_factor", "projection", "seed",
    "accepted_error", "confidence", "independent", "novelty",
)  # fmt: skip


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser = add_command(
        commands,
        "fit",
        "calibrate a profile from recorded streams",
        "fit calibration.npz -o monitor.json",
    )
    parser.add_argument("calibration", help="stream of normal operation, .npz or .parquet")
    parser.add_argument(
        "--development",
        help="labelled stream with shifts, to learn weights from; the tcuq score requires it",
    )
    parser.add_argument("-o", "--output", required=True, help="profile to write, .json")
    parser.add_argument(
        "--preset",
        choices=("recommended", "paper"),
        default="recommended",
        help="defaults of all options below, default recommended",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        help="share of normal steps whose risk may reach the threshold, default 0.1",
    )
    parser.add_argument(
        "--accepted-error",
        type=float,
        help="keep the share of wrong among accepted predictions at most this large; needs labels",
    )
    parser.add_argument(
        "--confidence", type=float, help="confidence level of --accepted-error, default 0.95"
    )
    parser.add_argument(
        "--independent",
        choices=("recordings", "steps"),
        help="independent units of --accepted-error; default: recordings if there are several",
    )
    parser.add_argument(
        "--budget",
        type=float,
        help="long-run share of predictions that may be withheld, default 0.15",
    )
    parser.add_argument(
        "--burst",
        type=float,
        help="predictions that may be withheld beyond the budget at once, default 16",
    )
    parser.add_argument(
        "--score",
        choices=("anchored", "tcuq"),
        help="score that combines the signals into a risk; default: the preset's",
    )
    parser.add_argument(
        "--signs", choices=("free", "monotone"), help="signs of the tcuq score's weights"
    )
    parser.add_argument(
        "--mix",
        type=float,
        help="tcuq score: weight of the signals against low confidence, default 0.7",
    )
    parser.add_argument(
        "--blend", type=float, help="signal doubt: weight of confidence against margin, default 0.5"
    )
    parser.add_argument(
        "--mode",
        choices=("guarded", "adaptive"),
        help="threshold: limited by calibration (guarded) or following the stream (adaptive)",
    )
    parser.add_argument(
        "--warmup", type=int, help="first steps in which an adaptive threshold is guarded"
    )
    parser.add_argument(
        "--ledger-step",
        type=float,
        help="largest change of the threshold per step, in risk, default 1/128",
    )
    parser.add_argument(
        "--lags", type=parse_lags, help="past steps to compare with, comma-separated, default 1,2,4"
    )
    parser.add_argument(
        "--novelty",
        action=argparse.BooleanOptionalAction,
        help="compute the novelty of each decision; default: as in the preset",
    )
    parser.add_argument(
        "--alarm",
        action=argparse.BooleanOptionalAction,
        help="raise an alarm when the stream changes; default: as in the preset",
    )
    parser.add_argument(
        "--steps-per-false-alarm",
        type=int,
        help="least mean number of steps between false alarms, default 1048576",
    )
    parser.add_argument(
        "--epoch-steps", type=int, help="steps per epoch, best about a day's, default 65536"
    )
    parser.add_argument(
        "--block-factor", type=int, choices=(1, 2, 4), help="multiply the alarm's block lengths"
    )
    parser.add_argument(
        "--projection", choices=("pca", "lda"), help="method that reduces features wider than 32"
    )
    parser.add_argument("--seed", type=int, help="seed of the random numbers in the fit")
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
