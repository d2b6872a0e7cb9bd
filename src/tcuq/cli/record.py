# SPDX-License-Identifier: Apache-2.0
"""`tcuq record`: run a model over inputs and write the recorded stream."""

import argparse
from typing import Any

from tcuq._progress import Progress
from tcuq.cli._output import Commands, check_output, print_result
from tcuq.errors import StreamError
from tcuq.recording import read_arrays

INPUTS = ("inputs", "labels", "starts", "shifted")


def add_parser(commands: Commands) -> argparse.ArgumentParser:
    """Add the command's parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "record", help="run a model over inputs and write the recorded stream"
    )
    parser.add_argument("model", help=".tflite, .onnx, .keras, or file.py:factory of your own code")
    parser.add_argument("data", help=".npz with inputs, and if known labels, starts, shifted")
    parser.add_argument("-o", "--output", required=True, help="stream to write, .parquet or .npz")
    parser.add_argument(
        "--layer", help="layer to take features from, default: the last one's input"
    )
    parser.add_argument("--from-output", metavar="NAME", help="output to use, if there are several")
    parser.add_argument(
        "--kind", choices=("probabilities", "logits"), help="of the output, if the model is silent"
    )
    parser.add_argument(
        "--pool",
        choices=("flatten", "first", "mean"),
        default="flatten",
        help="how features become one vector per step, default flatten",
    )
    parser.add_argument(
        "--reference-kernels", action="store_true", help="LiteRT: integers as on a device"
    )
    return parser


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
    with Progress("steps", total=len(arrays["inputs"])) as progress:
        stream = record(
            tap, **arrays, kind=args.kind, pool=args.pool, progress=progress.advance
        )  # fmt: skip
    stream.save(args.output)
    facts: dict[str, Any] = {
        "steps": len(stream),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "layer": tap.layer,
        "labelled": 0 if stream.labels is None else int((stream.labels >= 0).sum()),
        "sha256": stream.sha256,
    }
    scale, zero_point = getattr(tap, "quantisation", (0.0, 0))
    if scale > 0:  # in the form that `tcuq export --feature-codes` takes
        facts["codes"] = f"{scale!r},{zero_point}"
    if stream.labels is not None and (stream.labels >= 0).any():
        known = stream.labels >= 0
        right = stream.posteriors[known].argmax(axis=1) == stream.labels[known]
        facts["accuracy"] = float(right.mean())
    text = [f"{name:<10} {value}" for name, value in facts.items()]
    print_result(args, facts, "\n".join([*text, f"written to {args.output}"]))
