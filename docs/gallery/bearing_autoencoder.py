# SPDX-License-Identifier: Apache-2.0
"""A worn bearing, by an autoencoder's error.

For anyone who watches a machine: an autoencoder learns the vibration of a healthy bearing, without
any faulty one. Its reconstruction error is the one number that the monitor watches, beside the code
of eight values in its middle. After three seconds the bearing is another one: its ball, inner race
or outer race has a pit of 0.18 mm. Each time an alarm comes within a third of a second, and none
before. The rate of false alarms was chosen beforehand, without a threshold on the error.

Needs `pip install 'tcuq[fit,plot]'`. The folder `$TCUQ_DATA` must hold the drive-end recordings at
12 kHz of Case Western Reserve University's bearing data as one file,
`bearings/bearings_12k_drive_end.npz`. [How to monitor a model without
classes](../howto/outputs.md) explains the rest.
"""

import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

import tcuq
from tcuq.tap import open_tap, record

if "TCUQ_DATA" not in os.environ:
    raise SystemExit("set TCUQ_DATA to the folder of the data sets; the page says which it needs")
FILE = Path(os.environ["TCUQ_DATA"]) / "bearings/bearings_12k_drive_end.npz"
WINDOW, HOP, BANDS, RATE = 512, 64, 32, 12_000  # samples; a step every 5 ms
FAULTS = {"ball": "B007_0", "inner race": "IR007_0", "outer race": "OR007at6_0"}


def spectra(samples):
    """Return the logarithm of the energy in each band, one row per window."""
    windows = np.lib.stride_tricks.sliding_window_view(samples * 12 / 32767, WINDOW)[::HOP]
    power = np.abs(np.fft.rfft(windows * np.hanning(WINDOW), axis=1)[:, 1:]) ** 2
    return np.log(power.reshape(len(power), BANDS, -1).mean(axis=2) + 1e-9)


# 1. The first 5 seconds of the healthy bearing train the autoencoder, the next 12 calibrate.
with np.load(FILE) as file:
    healthy, faulty = file["Normal_0"], {name: file[key] for name, key in FAULTS.items()}
training, known, rest = (
    spectra(healthy[begin * RATE : end * RATE]) for begin, end in ((0, 5), (5, 17), (17, 20))
)
scaler = StandardScaler().fit(training)
inputs = scaler.transform(training)
model = MLPRegressor(
    hidden_layer_sizes=(24, 8, 24), activation="tanh", max_iter=200, random_state=0
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    model.fit(inputs, inputs)


def stream_of(rows):
    """Return the reconstruction error of each step, and the activations before the last layer."""
    return record(open_tap(model), scaler.transform(rows), reduce="reconstruction")


profile = tcuq.fit(stream_of(known), alarm=tcuq.AlarmOptions(1 << 14))

# 2. Three seconds of the healthy bearing, then two of a faulty one.
early, delays = 0, []
fig, all_axes = plt.subplots(3, figsize=(9, 6), sharex=True, layout="constrained")
for (name, samples), axes in zip(faulty.items(), all_axes, strict=True):
    field = np.concatenate([rest, spectra(samples[: 2 * RATE])])
    stream, begin = stream_of(field), len(rest)
    trace = tcuq.Monitor(profile).run(stream)
    seconds = np.arange(len(field)) * HOP / RATE
    before = sum(step < begin for step in trace.alarms)
    first = min(step for step in trace.alarms if step >= begin)
    early += before
    delays.append(seconds[first] - seconds[begin])
    print(f"{name}: {before} alarms before, the first {delays[-1]:.2f} s after")
    axes.semilogy(seconds, stream.outputs[:, 0], linewidth=0.7)
    axes.axvspan(seconds[begin], seconds[-1], color="0.92", label=f"pit in the {name}")
    axes.axvline(seconds[first], color="tab:red", label="first alarm")
    axes.set_ylabel("error")
    axes.legend(loc="upper left")
all_axes[-1].set(xlabel="second", xlim=(0, seconds[-1]))
fig.savefig("bearing_autoencoder.png", dpi=100)

# 3. What this page says.
assert early == 0
assert max(delays) < 1 / 3
