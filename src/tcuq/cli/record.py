# SPDX-License-Identifier: Apache-2.0
"""`tcuq record`: run a model over inputs and write the recorded stream."""

import argparse
from typing import Any

from tcuq._columns import UNKNOWN
from tcuq.cli._arguments import parse_groups
from tcuq.cli.output import check_output, print_result
from tcuq.errors import InputError, StreamError
from tcuq.progress import Progress
from tcuq.recording import read_arrays

SENTENCE = "run a model over inputs and write the recorded stream"
EXAMPLE = "record network.tflite inputs.npz -o calibration.npz"
INPUTS = ("inputs", "labels", "starts", "shifted", "windows")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("model", help=".tflite, .onnx, .keras, .pte, or file.py:factory of your own code")
    add("data", help=".npz with inputs, and if known labels, starts, shifted, windows")
    add("-o", "--output", required=True, help="stream to write, .parquet or .npz")
    add("--layer", help="layer to take features from, default: the last one's input")
    add("--from-output", metavar="NAME", help="output to use, if there are several")
    add(
        "--kind",
        choices=("probabilities", "logits"),
        help="kind of the output, if the model does not tell",
    )
    add(
        "--pool",
        choices=("flatten", "first", "mean"),
        default="flatten",
        help="how features become one vector per step, default flatten",
    )
    add(
        "--temperature",
        type=float,
        default=1.0,
        help="temperature that divides the logits, default 1",
    )
    add(
        "--reference-kernels",
        action="store_true",
        help="LiteRT: use the reference kernels, which give a device's integers",
    )
    add(
        "--health",
        action="store_true",
        help="input health from the model's inputs, or from windows of raw samples in the data",
    )
    add(
        "--health-groups",
        type=parse_groups,
        metavar="GROUPS",
        help="channels judged together, such as 0,1,2:3,4,5, default: all",
    )
    add(
        "--health-names",
        metavar="NAMES",
        help="names of the groups, such as accelerometer,gyroscope",
    )
    add(
        "--health-lsb",
        type=float,
        metavar="LSB",
        help="smallest step of the sensor, in the inputs' unit; required for real numbers",
    )
    add(
        "--health-channels-first", action="store_true", help="inputs are (steps, channels, samples)"
    )


def run(args: argparse.Namespace) -> None:
    """Record the stream and describe it."""
    from tcuq.tap import open_tap, record

    check_output(args.output, ".parquet", ".npz")
    arrays = read_arrays(args.data, INPUTS)
    if "inputs" not in arrays:
        raise StreamError(f"{args.data}: inputs are missing: an array of that name, (steps, ...)")
    tap = open_tap(
        args.model,
        args.layer,
        output=args.from_output,
        kind=args.kind,
        reference=args.reference_kernels,
    )
    health = _health(args, arrays.pop("windows", None))
    with Progress("steps", total=len(arrays["inputs"])) as progress:
        stream = record(
            tap,
            **arrays,
            kind=args.kind,
            pool=args.pool,
            temperature=args.temperature,
            health=health,
            progress=progress.advance,
        )
    stream.save(args.output)
    facts: dict[str, Any] = {
        "steps": len(stream),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "layer": tap.layer,
        "health": ", ".join(stream.health_names) or "none",
        "labelled": 0 if stream.labels is None else int((stream.labels != UNKNOWN).sum()),
        "sha256": stream.sha256,
    }
    scale, zero_point = getattr(tap, "quantisation", (0.0, 0))
    if scale > 0:  # in the form that `tcuq export --feature-codes` takes
        facts["feature_codes"] = f"{scale!r},{zero_point}"
    if stream.labels is not None and (stream.labels >= 0).any():
        known = stream.labels >= 0
        right = stream.posteriors[known].argmax(axis=1) == stream.labels[known]
        facts["accuracy"] = float(right.mean())
    text = [f"{name:<13} {value}" for name, value in facts.items()]
    print_result(args, facts, "\n".join([*text, f"written to {args.output}"]))


def _health(args: argparse.Namespace, windows: Any) -> Any:  # noqa: ANN401 - an array, a plan
    """The plan for the model's inputs, the health of raw windows, or None if not asked for."""
    from tcuq.tap.input_health import HealthRecorder, InputHealth

    options = (args.health_groups, args.health_names, args.health_lsb)
    if not args.health:
        if any(option is not None for option in options) or args.health_channels_first:
            raise InputError("--health-... options must come with --health")
        return None
    plan = InputHealth(
        args.health_groups,
        args.health_lsb,
        names=None if args.health_names is None else args.health_names.split(","),
        channels_first=args.health_channels_first,
    )
    if windows is None:
        return plan
    recorder = HealthRecorder(plan, (0.0, 0))
    recorder.add(windows)
    return recorder.result()
