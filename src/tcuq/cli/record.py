# SPDX-License-Identifier: Apache-2.0
"""`tcuq record`: run a model over inputs and write the recorded stream."""

import argparse
from typing import Any

from tcuq._columns import UNKNOWN
from tcuq.cli._arguments import adder, parse_groups
from tcuq.cli.output import check_output, print_result
from tcuq.errors import InputError, StreamError
from tcuq.progress import Progress
from tcuq.recording import read_arrays
from tcuq.stream import KINDS

SENTENCE = "run a model over inputs and write the recorded stream"
EXAMPLE = "record network.tflite inputs.npz -o calibration.npz"
INPUTS = ("inputs", "labels", "starts", "shifted", "windows", "errors", "targets")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = adder(parser)
    add("model", ".tflite, .onnx, .keras, .pte, or file.py:factory of your own code")
    add(
        "data", ".npz with inputs, and if known labels, errors or targets, starts, shifted, windows"
    )
    add("-o", "--output", "stream to write, .parquet or .npz", required=True)
    add("--layer", "layer to take features from, default: the last one's input")
    add("--from-output", "output to use, if there are several", metavar="NAME")
    add(
        "--kind",
        "kind of the output, if the model does not tell",
        choices=KINDS,
    )
    add(
        "--reduce",
        "without classes: more than 8 values a step become a reconstruction's error, a grid's best"
        " confidences, or a norm",
        choices=("reconstruction", "best", "best_first", "norm"),
    )
    add("--tolerance", "without classes: how far an output may be from targets", type=float)
    add(
        "--pool",
        "how features become one vector per step",
        choices=("flatten", "first", "mean"),
        default="flatten",
    )
    add(
        "--stress",
        "record the inputs through generic sensor faults, clean predictions as labels",
        action="store_true",
    )
    add("--temperature", "temperature that divides the logits", type=float, default=1.0)
    add(
        "--reference-kernels",
        "LiteRT: use the reference kernels, which give a device's integers",
        action="store_true",
    )
    add(
        "--health",
        "input health from the model's inputs, or from windows of raw samples in the data",
        action="store_true",
    )
    add(
        "--health-groups",
        "channels judged together, such as 0,1,2:3,4,5, default: all",
        type=parse_groups,
        metavar="GROUPS",
    )
    add("--health-names", "names of the groups, such as accelerometer,gyroscope", metavar="NAMES")
    add(
        "--health-lsb",
        "smallest step of the sensor, in the inputs' unit; required for real numbers",
        type=float,
        metavar="LSB",
    )
    add("--health-channels-first", "inputs are (steps, channels, samples)", action="store_true")


def run(args: argparse.Namespace) -> None:
    """Record the stream and describe it."""
    from tcuq.tap import open_tap, record, stress

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
    total = len(arrays["inputs"]) * (2 if args.stress else 1)
    without_classes = {"reduce": args.reduce, "tolerance": args.tolerance}
    given = (
        {"inputs": arrays["inputs"]}
        if args.stress
        else {**arrays, "health": health, **without_classes}
    )
    with Progress("steps", total=total) as progress:
        stream = (stress if args.stress else record)(
            tap,
            **given,
            kind=args.kind,
            pool=args.pool,
            temperature=args.temperature,
            progress=progress.advance,
        )
    stream.save(args.output)
    facts: dict[str, Any] = {
        "steps": len(stream),
        "kind": stream.kind,
        "classes": stream.classes,
        "outputs": 0 if stream.outputs is None else stream.outputs.shape[1],
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
        predicted = stream.posteriors.argmax(axis=1) * (stream.classes > 0)  # without classes 0
        right = (predicted == stream.labels)[known]
        facts["unchanged" if args.stress else "accuracy"] = float(right.mean())
    text = [f"{name:<13} {value}" for name, value in facts.items()]
    print_result(args, facts, "\n".join([*text, f"written to {args.output}"]))


def _health(args: argparse.Namespace, windows: Any) -> Any:  # noqa: ANN401 - an array, a plan
    """The plan for the model's inputs, the health of raw windows, or None if not asked for."""
    from tcuq.tap.input_health import HealthRecorder, InputHealth

    options = (args.health_groups, args.health_names, args.health_lsb)
    if args.health and args.stress:
        raise InputError("--stress records no input health: leave --health out")
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
