# SPDX-License-Identifier: Apache-2.0
"""Compare the device's decisions on the story with the host's, and sum up each chapter."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import network
import tcuq

HERE = Path(__file__).resolve().parent
COLUMNS = ("step", "label", "risk", "threshold", "exceeded", "outcome", "alarm")
RISK_LEVELS, THRESHOLD_LEVELS = 1 << 14, 1 << 30  # of the device's integers
CHANNELS = {1: "low confidence", 2: "novelty", 4: "divergence", 8: "instability"}

Table = NDArray[np.int64]


def run_network(
    inputs: NDArray[np.int8], profile: tcuq.Profile
) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Return posteriors and features in the monitor's integers."""
    posteriors, features = network.run(inputs)
    values = features * network.feature_scale()
    _, codes = tcuq.Monitor(profile).quantize(posteriors / 256, values)
    return posteriors, codes


def on_host(inputs: NDArray[np.int8]) -> Table:
    """Return what the device must print, from the network and `tcuq.Monitor` on this computer."""
    profile = tcuq.Profile.load(HERE / "build/monitor.json")
    trace = tcuq.Monitor(profile).run(*run_network(inputs, profile))
    columns = [np.arange(len(inputs)), trace.label, trace.risk * RISK_LEVELS]
    columns += [trace.threshold * THRESHOLD_LEVELS, trace.exceeded, trace.outcome, trace.alarm]
    return np.column_stack([np.asarray(column, np.int64) for column in columns])


def on_device() -> Table:
    """Read what the device printed."""
    return np.loadtxt(HERE / "build/device.txt", np.int64, ndmin=2)


def chapters(story: dict[str, NDArray[Any]], table: Table) -> list[dict[str, Any]]:
    """Sum up each chapter that the device reached."""
    label, outcome, alarm = (table[:, COLUMNS.index(n)] for n in ("label", "outcome", "alarm"))
    right = label == story["labels"][: len(table)]
    rows, begin = [], 0
    for name, length in zip(story["chapters"], story["lengths"], strict=True):
        at = slice(begin, min(begin + int(length), len(table)))
        accepted, alarms = outcome[at] == tcuq.Outcome.ACCEPT, np.flatnonzero(alarm[at])
        if at.start >= at.stop:
            break
        rows.append(
            {
                "chapter": str(name),
                "steps": at.stop - at.start,
                "right": float(right[at].mean()),
                "accepted": float(accepted.mean()),
                "right_of_accepted": float(right[at][accepted].mean()) if accepted.any() else None,
                "denied": float((outcome[at] == tcuq.Outcome.DENIED).mean()),
                "first_alarm": int(alarms[0]) + 1 if len(alarms) else None,
                "channels": [n for bit, n in CHANNELS.items() if (alarm[at] & bit).any()],
            }
        )
        begin = at.stop
    return rows


def lines(rows: list[dict[str, Any]]) -> list[str]:
    """Format the chapters as a table."""
    head = f"{'':<17} {'steps':>5}  {'right':>6}  {'accept':>6} {'abstain':>7}  {'denied':>6}"
    text = [f"{head}  {'right of accepted':>17}  alarm"]
    for row in rows:
        of_accepted = row["right_of_accepted"]
        alarm = "none" if row["first_alarm"] is None else f"after {row['first_alarm']} steps"
        abstained = 1 - row["accepted"] - row["denied"]
        text.append(
            f"{row['chapter']:<17} {row['steps']:>5}  {row['right']:>6.1%}  {row['accepted']:>6.1%}"
            f" {abstained:>7.1%}  {row['denied']:>6.1%}"
            f"  {'-' if of_accepted is None else format(of_accepted, '.1%'):>17}"
            f"  {', '.join([alarm, *row['channels']])}"
        )
    return text


def main() -> None:
    """Write the device's inputs, or compare its decisions with the host's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=Path, help="write what the device will read, and stop")
    parser.add_argument("--steps", default="all", help="of the story, from its beginning")
    parser.add_argument("--host", action="store_true", help="tell it as this computer decides")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with np.load(HERE / "story.npz") as file:
        story = dict(file)
    if args.inputs is not None:
        steps = len(story["inputs"]) if args.steps == "all" else int(args.steps)
        story["inputs"][:steps].tofile(args.inputs)
        return
    if args.host:
        print("\n".join(lines(chapters(story, on_host(story["inputs"])))))
        return
    device = on_device()
    host = on_host(story["inputs"][: len(device)])
    equal = int((device == host).all(axis=1).sum())
    rows = chapters(story, device)
    if args.json:
        print(json.dumps({"steps": len(device), "equal": equal, "chapters": rows}, indent=1))
    else:
        print("\n".join(lines(rows)))
        print(f"{equal:,} of {len(device):,} decisions of the device are the host's, bit for bit")
    sys.exit(equal != len(device))


if __name__ == "__main__":
    main()
