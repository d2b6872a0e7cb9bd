# SPDX-License-Identifier: Apache-2.0
"""A wake word: one number per step.

For anyone whose model gives one number per step: a wake-word model such as those of microWakeWord
and ESPHome gives the probability that the word was just said. Here MLPerf Tiny's streaming model
listens for "Marvin" and gives that number eight times per second. After two minutes something
covers the microphone. The model hears nothing and is sure of it, so the number alone shows no
fault. The *input health* of the microphone does, within ten seconds.

Needs `pip install 'tcuq[fit,litert,plot]' soundfile`. The folder `$TCUQ_DATA` must hold
`mlperf-tiny/str_ww_ref_model.tflite`, from the repository `mlcommons/tiny`, and `speech-commands/`
as for [the LiteRT page](keras_litert.md).
"""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import soundfile

import tcuq
from tcuq.tap import open_tap, record

if "TCUQ_DATA" not in os.environ:
    raise SystemExit("set TCUQ_DATA to the folder of the data sets; the page says which it needs")
DATA = Path(os.environ["TCUQ_DATA"])
WORDS = ("happy", "right", "down", "left", "up", "go")
HOP, FRAMES, STRIDE = 512, 30, 4  # samples per frame; frames per input; frames per step
rng = np.random.default_rng(0)
tap = open_tap(DATA / "mlperf-tiny/str_ww_ref_model.tflite")


def clips_of(word, splits):
    """Return a word's one-second clips of these splits."""
    with (DATA / "speech-commands/index.csv").open() as file:
        rows = [int(r["row"]) for r in csv.DictReader(file)
                if r["word"] == word and r["official_split"] in splits]  # fmt: skip
    sound, _ = soundfile.read(DATA / f"speech-commands/{word}.flac", dtype="float32")
    return sound.reshape(-1, 16000)[rows]


def room(words, marvins, seconds):
    """Return audio of a room: other words, pauses, and "Marvin" in every 15 seconds."""
    heard = []
    for second in range(seconds):
        wake = second % 15 == 7
        chosen = rng.choice(marvins if wake else words)
        level = 10 ** rng.uniform(-1.0, -0.3) if wake or rng.random() < 0.6 else 0
        heard.append(level * chosen / max(np.abs(chosen).max(), 1e-6))
    sound = np.concatenate(heard)
    return sound + 0.002 * rng.standard_normal(sound.shape)


def spectra(sound):
    """Return 40 mel energies per frame of 64 ms, every 32 ms, in 0..1."""
    sharp = np.append(sound[:1], sound[1:] - (1 - 2**-5) * sound[:-1])
    frames = np.lib.stride_tricks.sliding_window_view(sharp, 2 * HOP)[::HOP] * np.hamming(2 * HOP)
    power = np.abs(np.fft.rfft(frames)) ** 2 / (2 * HOP)
    mels = 1127 * np.log1p(np.linspace(0, 8000, HOP + 1) / 700)[:, None]
    edges = np.linspace(0, 1127 * np.log1p(8000 / 700), 42)
    triangles = np.minimum(mels - edges[:-2], edges[2:] - mels) / np.diff(edges)[0]
    return np.clip((10 * np.log10(power @ np.maximum(0, triangles) + 1e-30) + 52) / 64, 0, 0.943)


def listen(sound):
    """Return the stream: per step the probability of the word, and the microphone's health."""
    sound = np.rint(32767 * np.clip(sound, -1, 1)).astype(np.int16)
    frames = spectra(sound / 32768)
    inputs = np.lib.stride_tricks.sliding_window_view(frames, FRAMES, axis=0)[::STRIDE]
    probability = record(tap, inputs.transpose(0, 2, 1)[:, :, None]).posteriors[:, 0]
    windows = np.lib.stride_tricks.sliding_window_view(sound, HOP * STRIDE)
    windows = windows[(FRAMES - STRIDE) * HOP :: HOP * STRIDE][: len(probability)]
    health = tcuq.health(windows, ((0,),), names=("microphone",))
    starts = range(0, len(probability), 469)  # a recording per minute
    return tcuq.Stream(probability, health=health, classes=["other", "Marvin"], starts=starts)


def words(split):
    """Return clips of other words."""
    return np.concatenate([clips_of(w, [split]) for w in WORDS])


# 1. Calibrate on ten minutes of the room. A wake word is rare and comes suddenly, so the score
#    reads the model's doubt alone: its other terms would find every wake word unusual. `fit` warns
#    of the rare class; that is how a wake word is.
marvins = clips_of("marvin", ["training", "validation"])
calibration = listen(room(words("validation"), marvins[:5], 600))
terms = [tcuq.TermPlan("low_confidence", scale="odds")]
profile = tcuq.fit(calibration, terms=terms, alpha=0.02)

# 2. Another two minutes, with other voices; then the microphone is covered.
COVERED = 120
sound = room(words("testing"), marvins[5:], 2 * COVERED)
sound[COVERED * 16000 :] *= 0.02
field = listen(sound)
trace = tcuq.Monitor(profile).run(field)

seconds = (np.arange(len(field)) * STRIDE + FRAMES) * HOP / 16000
probability, accepted = field.posteriors[:, 1], ~trace.withheld
spoken = np.arange(7, 2 * COVERED, 15)
through = {}
for name, times in (("free", spoken[spoken < COVERED]), ("covered", spoken[spoken >= COVERED])):
    heard = [(probability * accepted)[(seconds > t + 0.3) & (seconds < t + 2)].max() for t in times]
    through[name] = np.sum(np.array(heard) > 0.5)
    print(f"microphone {name}: {through[name]} of {len(times)} wake words got through")
first = min(step for step in trace.alarms if seconds[step] >= COVERED)
delay = seconds[first] - COVERED
print(f"alarm {delay:.0f} seconds later: {trace.alarms[first]}")

# 3. What this page says: a covered microphone hears nothing, and its health shows it soon.
assert through["free"] >= 6
assert through["covered"] == 0
assert delay <= 20

fig, (top, bottom) = plt.subplots(2, figsize=(9, 4.5), sharex=True, layout="constrained")
top.plot(seconds, probability, linewidth=0.8)
top.plot(spoken + 0.5, np.full(len(spoken), 1.08), "v", color="tab:green", label='"Marvin" is said')
top.set(ylabel="model's output", ylim=(-0.05, 1.2))
bottom.plot(seconds, field.health[:, 0], linewidth=0.8, label=field.health_names[0])
bottom.set(xlabel="second", ylabel="log2 of counts", xlim=(0, 2 * COVERED))
for ax in (top, bottom):
    ax.axvspan(COVERED, 2 * COVERED, color="0.92", label="covered")
    for number, step in enumerate(trace.alarms):
        ax.axvline(seconds[step], color="tab:red", label=None if number else "alarm")
    ax.legend(loc="center right")
fig.savefig("wake_word.png", dpi=100)
