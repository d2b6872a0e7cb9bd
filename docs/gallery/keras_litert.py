# SPDX-License-Identifier: Apache-2.0
"""A Keras model, converted to LiteRT.

For anyone with a `.tflite` file: MLPerf Tiny's keyword network was trained in Keras and converted
to int8, 54 kB, as it runs on a microcontroller. It hears one word per second; after 330 seconds a
fan starts to blow into the microphone. The monitor sees what the file computes and needs no
TensorFlow.

Needs `pip install 'tcuq[fit,litert,plot]' soundfile`. The folder `$TCUQ_DATA` must hold
`mlperf-tiny/kws_ref_model.tflite`, from the repository `mlcommons/tiny`, and `speech-commands/`:
per word of Google's Speech Commands one FLAC file of one-second clips, and `index.csv`.
"""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import soundfile

import tcuq
from tcuq.evaluation import compare
from tcuq.tap import open_tap, record

if "TCUQ_DATA" not in os.environ:
    raise SystemExit("set TCUQ_DATA to the folder of the data sets; the page says which it needs")
DATA = Path(os.environ["TCUQ_DATA"])
NAMES = ["down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes"]
NAMES += ["silence", "unknown"]
rng = np.random.default_rng(0)


def held_out_words():
    """Return clips that the network was not trained on, ten of one word after another."""
    with (DATA / "speech-commands/index.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["official_split"] != "training"]
    words = {row["word"] for row in rows}
    folder = DATA / "speech-commands"
    sounds = {word: soundfile.read(folder / f"{word}.flac", dtype="float32")[0] for word in words}
    clips = [sounds[row["word"]].reshape(-1, 16000)[int(row["row"])] for row in rows]
    classes = [NAMES.index(row["word"] if row["word"] in NAMES else "unknown") for row in rows]
    turns = rng.permutation(len(rows) // 10)[:, None] * 10 + np.arange(10)
    return np.stack(clips)[turns.ravel()], np.array(classes)[turns.ravel()]


def cepstra(clips):
    """Return the network's inputs: 49 frames of 10 cepstral coefficients."""
    frames = np.lib.stride_tricks.sliding_window_view(clips, 480, axis=1)[:, ::320]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)
    spectrum = np.abs(np.fft.rfft(frames * hann.astype(np.float32), 512))
    mels = 1127 * np.log1p(np.linspace(0, 8000, 257) / 700)[:, None]
    edges = np.linspace(1127 * np.log1p(20 / 700), 1127 * np.log1p(4000 / 700), 42)
    triangles = np.minimum(mels - edges[:-2], edges[2:] - mels) / np.diff(edges)[0]
    logs = np.log(spectrum @ np.maximum(0, triangles) + 1e-6)
    cosines = np.cos(np.pi * np.arange(10) * (2 * np.arange(40)[:, None] + 1) / 80)
    return logs @ cosines * 2 / np.sqrt(80)


def stream_of(clips, classes, fan):
    """Record the network on clips, each moved by up to 0.1 s; a fan adds noise."""
    heard = np.stack([np.roll(clip, rng.integers(-1600, 1600)) for clip in clips])
    heard /= np.abs(heard).max(axis=1, keepdims=True)
    heard += fan[:, None] * rng.standard_normal(heard.shape, np.float32)
    inputs = np.concatenate([cepstra(part) for part in np.array_split(heard, 20)])
    tap = open_tap(DATA / "mlperf-tiny/kws_ref_model.tflite")
    return record(tap, inputs[..., None], classes, starts=range(0, len(clips), 165))


# 1. Calibrate on two thirds of the words, each heard three times, at another place in its second.
clips, classes = held_out_words()
most = 660
rows = np.tile(np.arange(most), 3)
calibration = stream_of(clips[rows], classes[rows], np.full(len(rows), 0.001))
profile = tcuq.fit(calibration, alpha=0.1, budget=0.15)

# 2. Run it on the others, first quiet, then with the fan.
rows = np.tile(np.arange(most, len(classes)), 2)
FAN = len(rows) // 2
field = stream_of(clips[rows], classes[rows], np.where(np.arange(len(rows)) < FAN, 0.001, 0.08))
trace = tcuq.Monitor(profile).run(field)

right = trace.label == field.labels
fan = np.arange(len(rows)) >= FAN
results = {}
for name, part in (("quiet", ~fan), ("fan on", fan)):
    results[name] = compare(profile, field, trace, part)
    print(f"{name}: the network is right in {right[part].mean():.0%}. {results[name].sentence}")
first = min(step for step in trace.alarms if step >= FAN)
before = sum(step < FAN for step in trace.alarms)
print(f"alarms while quiet: {before}")
print(f"alarm {first - FAN} seconds after the fan started: {trace.alarms[first]}")

# 3. What this page says: the fan takes most of what is accepted; no alarm comes without it.
assert results["fan on"].coverage < results["quiet"].coverage / 4
assert results["fan on"].error <= 1 - right[fan].mean()
assert before == 0

axes = trace.plot(shifted=fan)
axes.set_xlabel("second")
plt.savefig("keras_litert.png", dpi=100)
