# SPDX-License-Identifier: Apache-2.0
"""`record` and `export`: from a model of one's own to sources for its firmware."""

import argparse
from collections.abc import Iterator
from typing import Any

from tcuq._progress import Progress
from tcuq.cli.printing import Commands, check_output, say
from tcuq.profile import Profile
from tcuq.recording import load_stream, read_arrays, save_stream

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

    export = parsers.add_parser("export", help="write a profile as C for a firmware project")
    export.add_argument("profile")
    export.add_argument("-o", "--output", required=True, help="folder: new, or an earlier export")
    export.add_argument(
        "--for",
        dest="target",
        default="c",
        help="c (default), arduino, zephyr, esp-idf, platformio",
    )
    export.add_argument("--check", action="store_true", help="only say whether it is current")
    export.add_argument("--without-telemetry", action="store_true", help="no counters, no record")
    export.add_argument("--uplink", action="store_true", help="and what sends the record")
    export.add_argument("--vectors", metavar="STREAM", help="take the self-test's steps from it")
    export.add_argument(
        "--feature-codes",
        type=_codes,
        metavar="SCALE,ZERO",
        help="of the network's int8 features: write a table to the monitor's",
    )
    export.set_defaults(command=_export)
    yield export


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
    scale, zero_point = getattr(tap, "quantisation", (0.0, 0))
    if scale > 0:  # as `tcuq export --feature-codes` takes them
        facts["codes"] = f"{scale!r},{zero_point}"
    if stream.labels is not None and (stream.labels >= 0).any():
        known = stream.labels >= 0
        right = stream.posteriors[known].argmax(axis=1) == stream.labels[known]
        facts["accuracy"] = float(right.mean())
    text = [f"{name:<10} {value}" for name, value in facts.items()]
    say(asked, facts, "\n".join([*text, f"written to {asked.output}"]))


def _codes(text: str) -> tuple[float, int]:
    scale, _, zero_point = text.partition(",")
    return float(scale), int(zero_point)


def _export(asked: argparse.Namespace) -> None:
    from tcuq.errors import ExportError
    from tcuq.export import differences, export

    profile = Profile.load(asked.profile)
    options = {
        "telemetry": not asked.without_telemetry,
        "uplink": asked.uplink,
        "stream": None if asked.vectors is None else load_stream(asked.vectors),
        "feature_codes": asked.feature_codes,
    }
    if asked.check:
        found = differences(profile, asked.output, asked.target, **options)
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            raise ExportError(
                f"{asked.output}: is not current: {', '.join(found[:3])}{more};"
                " run the same command without --check"
            )
        say(asked, {"current": True}, f"{asked.output} is current")
        return
    made = export(profile, asked.output, asked.target, **options)
    facts = {
        "profile": profile.sha256,
        "for": made.target,
        "files": sorted(made.files),
        "yours": sorted(made.yours),
    }
    text = f"{len(made.files)} files for {made.target} in {asked.output}"
    say(asked, facts, f"{text}; yours to change: {', '.join(sorted(made.yours))}")
