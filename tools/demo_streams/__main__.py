# SPDX-License-Identifier: Apache-2.0
"""Run the keyword network over speakers it never saw and write the streams of `tcuq demo`.

Run by `make demo-streams`, which lets Python find the network in examples/keyword-spotting. Needs
AudioMNIST in $TCUQ_DATA, soundfile and aidge-export-cpp; a few minutes on one core.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import clips
import network
import tcuq
from tools.demo_streams.faults import FAULTS, FULL_SCALE, Rng, digitise
from tools.demo_streams.sessions import (
    EXAMPLE,
    ROOT,
    WINDOWS,
    Speech,
    joined,
    speakers,
    two_sessions,
    windows,
)

OUT = ROOT / "src/tcuq/data/keywords"
SECONDS_PER_WORD = 2.0
FEATURES = 32  # of 64: as many as a monitor reads without a projection
DEVELOPMENT_SESSIONS = 3  # clean, and as many with faults
FAULT_WORDS = slice(200, 400)  # of each test session
SEGMENT_WORDS = (23, 38)  # length of a clean or faulted segment in the development mix
SEVERITY = (0.5, 1.5)  # range of the severity in the development mix


def fault_stream(test: Speech, name: str, seed: int) -> Speech:
    """Return the test sessions with a fault that comes and goes once in each."""
    rng = np.random.default_rng([seed, 1, list(FAULTS).index(name)])
    faulted = test
    for start in test.starts:
        span = slice(start + FAULT_WORDS.start, start + FAULT_WORDS.stop)
        faulted = faulted.with_sounds(span, FAULTS[name](test.sounds[span], 1.0, rng))
    return faulted


def development_stream(clean: Speech, again: Speech, rng: Rng) -> Speech:
    """Return sessions as they are, then others with faulted segments between clean ones."""
    mixed, at, deck = again, 0, list[str]()
    while at < len(mixed):
        at += int(rng.integers(*SEGMENT_WORDS))
        span = slice(at, at + int(rng.integers(*SEGMENT_WORDS)))
        if at < len(mixed):
            # A shuffled list, used in turn, makes sure that every kind occurs.
            deck = deck or [str(name) for name in rng.permutation(list(FAULTS))]
            sounds = FAULTS[deck.pop()](mixed.sounds[span], rng.uniform(*SEVERITY), rng)
            mixed = mixed.with_sounds(span, sounds)
        at = span.stop
    return joined([clean, mixed])


def clean_streams(parts: dict[str, clips.Clips], seed: int) -> dict[str, Speech]:
    """Return the streams without a fault of their own: calibration, development and test."""
    rngs = [np.random.default_rng([seed, 2, part]) for part in range(len(parts))]
    pairs = [two_sessions(parts["development"], rngs[1]) for _ in range(DEVELOPMENT_SESSIONS)]
    clean, again = (joined(sessions) for sessions in zip(*pairs, strict=True))
    return {
        "calibration": joined(two_sessions(parts["calibration"], rngs[0])),
        "development": development_stream(clean, again, rngs[1]),
        "test": joined(two_sessions(parts["test"], rngs[2])),
    }


def record(speech: Speech) -> dict[str, Any]:
    """Return the arrays of one stream file: what the network says, and the input's health."""
    audio = windows(digitise(speech.sounds))
    health = tcuq.health(audio, names=("microphone",))
    posteriors, features = network.run(clips.inputs(np.asarray(audio / FULL_SCALE, np.float32)))
    return {
        "posteriors": posteriors,
        "kind": np.array("probabilities"),
        "posterior_scale": np.array(1 / 256),
        "features": features[:, :FEATURES],
        "feature_scale": np.array(network.feature_scale()),
        "labels": np.repeat(speech.digits, WINDOWS).astype(np.int8),
        "starts": (WINDOWS * speech.starts).astype(np.int32),
        "shifted": np.repeat(speech.shifted, WINDOWS),
        "class_names": np.array(clips.DIGITS),
        "health": health.values.astype(np.float16),
        "health_names": np.array(health.names),
        "seconds_per_step": np.array(SECONDS_PER_WORD / WINDOWS),
    }


def table_row(name: str, stream: dict[str, Any], clean: dict[str, Any]) -> str:
    """Return a stream's row of the README: accuracy without and with the fault, and its cost."""
    shifted = stream["shifted"]
    right = stream["posteriors"].argmax(axis=1) == stream["labels"]
    accuracies = [
        f"{100 * right[at].mean():.1f} % of {at.sum()}" if at.any() else ""
        for at in (~shifted, shifted)
    ]
    without = clean["posteriors"].argmax(axis=1) == clean["labels"]
    is_fault = name.startswith("fault_")
    lost = 100 * (without[shifted].mean() - right[shifted].mean()) if is_fault else 0
    cells = [name, str(len(stream["starts"])), str(len(right)), *accuracies]
    return f"| {' | '.join([*cells, f'{lost:.1f}' if is_fault else ''])} |"


def main() -> None:
    """Record all the streams and print a table of them."""
    parser = argparse.ArgumentParser(prog="python -m tools.demo_streams", description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    make = ("make", "-C", str(EXAMPLE), "build/network.so", f"PYTHON={sys.executable}")
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL, env=os.environ)
    parts = speakers(args.seed)
    for part, known in parts.items():
        print(part, "speakers", *np.unique(known.speakers))
    streams = clean_streams(parts, args.seed)
    streams |= {
        f"fault_{fault}": fault_stream(streams["test"], fault, args.seed) for fault in FAULTS
    }
    args.out.mkdir(parents=True, exist_ok=True)
    clean = record(streams["test"])
    print("| stream | sessions | steps | clean accuracy | faulted accuracy | cost in points |")
    for name, speech in streams.items():
        stream = record(speech)
        np.savez_compressed(args.out / f"{name}.npz", **stream)
        print(table_row(name, stream, clean), flush=True)


if __name__ == "__main__":
    main()
