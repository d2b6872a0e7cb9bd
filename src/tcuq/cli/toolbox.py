# SPDX-License-Identifier: Apache-2.0
"""`record`: from a model of one's own towards the device."""

import argparse
from collections.abc import Iterator
from typing import Any

from tcuq.cli.printing import Commands, check_output, say
from tcuq.progress import Progress
from tcuq.recording import read_arrays, save_stream

INPUTS = ("inputs", "labels", "starts", "shifted")


def commands(parsers: Commands) -> Iterator[argparse.ArgumentParser]:
    """The parsers of these commands."""
    record = parsers.add_parser("record", help="run a model over inputs and keep what it says")
    record.add_argument("model", help=".tflite, .onnx, or module:factory of your own code")
    record.add_argument("data", help=".npz with inputs, and if known labels, starts, shifted")
    record.add_argument("-o", "--output", required=True, help="stream to write, .parquet or .npz")
    record.add_argument("--layer", help="where features come from, default: the last layer's input")
    record.add_argument("--from-output", metavar="NAME", help="which output, if there are several")
    record.add_argument("--kind", choices=("probabilities", "logits"), help="if it does not say")
    record.add_argument("--pool", choices=("flatten", "first", "mean"), default="flatten")
    record.add_argument(
        "--reference-kernels", action="store_true", help="of LiteRT: integers as on a device"
    )
    record.set_defaults(command=_record)
    yield record


def _record(asked: argparse.Namespace) -> None:
    from tcuq.errors import StreamError
    from tcuq.tap import open_tap, record

    check_output(asked.output, ".parquet", ".npz")
    given = read_arrays(asked.data, INPUTS)
    if "inputs" not in given:
        raise StreamError(f"{asked.data}: inputs are missing: an array of that name, (steps, ...)")
    tap = open_tap(
        asked.model,
        asked.layer,
        output=asked.from_output,
        kind=asked.kind,
        reference=asked.reference_kernels,
    )
    with Progress("steps", total=len(given["inputs"])) as progress:
        stream = record(
            tap, **given, kind=asked.kind, pool=asked.pool, progress=progress.advance
        )  # fmt: skip
    save_stream(stream, asked.output)
    facts: dict[str, Any] = {
        "steps": len(stream),
        "kind": stream.kind,
        "classes": stream.classes,
        "features": stream.width,
        "layer": tap.layer,
        "labelled": 0 if stream.labels is None else int((stream.labels >= 0).sum()),
        "sha256": stream.sha256,
    }
    if stream.labels is not None and (stream.labels >= 0).any():
        known = stream.labels >= 0
        right = stream.posteriors[known].argmax(axis=1) == stream.labels[known]
        facts["accuracy"] = float(right.mean())
    text = [f"{name:<10} {value}" for name, value in facts.items()]
    say(asked, facts, "\n".join([*text, f"written to {asked.output}"]))
