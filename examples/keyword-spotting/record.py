# SPDX-License-Identifier: Apache-2.0
"""Make the two recordings that come with the example, from the data sets; needs `make` before.

calibration.npz has the int8 network's outputs on speakers it was not trained on, a stream for
`tcuq fit`. story.npz has the device's inputs, from yet other speakers.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import clips
import network

HERE = Path(__file__).resolve().parent
STORY = (
    ("clean", None, 640),
    ("noise 20 dB", 20.0, 320),
    ("noise 10 dB", 10.0, 320),
    ("noise 0 dB", 0.0, 320),
    ("clean again", None, 320),
)
OTHER, OTHER_STEPS = "other microphone", 640


def calibration(part: clips.Clips, rng: clips.Rng) -> dict[str, object]:
    """Return the calibration stream: every clip once, one recording per speaker."""
    part = part.take(clips.by_speaker(part, rng))
    starts = np.flatnonzero(part.speakers[1:] != part.speakers[:-1]) + 1
    posteriors, features = network.run(clips.inputs(clips.place_in_noise(part.sounds, rng)))
    return {
        "posteriors": posteriors,
        "kind": "probabilities",
        "posterior_scale": 1 / 256,
        "features": features,
        "feature_scale": network.feature_scale(),
        "labels": part.digits.astype(np.int8),
        "starts": np.array([0, *starts]),
    }


def story(test: clips.Clips, other: clips.Clips, rng: clips.Rng) -> dict[str, object]:
    """Return chapters of steps: test speakers in rising noise, clean, then the other microphone."""
    order = np.resize(clips.by_speaker(test, rng), sum(steps for _, _, steps in STORY))
    inputs, digits = [], []
    for _, snr_db, steps in STORY:
        chosen, order = test.take(order[:steps]), order[steps:]
        sounds = clips.place_in_noise(chosen.sounds, rng)
        sounds = sounds if snr_db is None else clips.noisy(sounds, snr_db, rng)
        inputs.append(clips.inputs(sounds))
        digits.append(chosen.digits)
    chosen = other.take(clips.by_speaker(other, rng)[:OTHER_STEPS])
    inputs.append(clips.inputs(chosen.sounds))
    digits.append(chosen.digits)
    return {
        "inputs": np.concatenate(inputs),
        "labels": np.concatenate(digits).astype(np.int8),
        "chapters": np.array([*(name for name, _, _ in STORY), OTHER]),
        "lengths": np.array([len(part) for part in digits]),
    }


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TCUQ_DATA", ".")))
    args = parser.parse_args()
    parts, rng = clips.audiomnist(args.data), np.random.default_rng(1)
    files = {
        "calibration": calibration(parts["calibration"], rng),
        "story": story(parts["test"], clips.speech_commands(args.data), rng),
    }
    for name, arrays in files.items():
        path = HERE / f"{name}.npz"
        np.savez_compressed(path, **{key: np.asarray(value) for key, value in arrays.items()})
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
