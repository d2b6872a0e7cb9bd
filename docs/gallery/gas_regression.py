# SPDX-License-Identifier: Apache-2.0
"""A drifting gas sensor, by a regressor.

For anyone whose model gives a quantity: a small network reads a gas's concentration from 16
metal-oxide sensors. Where it is off by more
than a third of the true value, its reading is wrong. The monitor calibrates on readings of the
first ten months. On others of the same months it raises no alarm, and what it accepts is seldom
wrong. In later months the sensors have drifted and most readings are wrong. The first alarm comes
within 300 readings, without a reference measurement; from then on no reading should be trusted
until the network and the monitor are fitted again.

Needs `pip install 'tcuq[fit,plot]'`. The folder `$TCUQ_DATA` must hold UCI's Gas Sensor Array Drift
data as one file, `gas-drift/gas_drift_partial.npz`. [How to monitor a model without
classes](../howto/outputs.md) explains the rest.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tcuq
from tcuq.tap import open_tap, record

if "TCUQ_DATA" not in os.environ:
    raise SystemExit("set TCUQ_DATA to the folder of the data sets; the page says which it needs")
FILE = Path(os.environ["TCUQ_DATA"]) / "gas-drift/gas_drift_partial.npz"
TOLERANCE = np.log10(4 / 3)  # of log10 of the concentration
BLOCK = 8  # neighbouring measurements stay together
rng = np.random.default_rng(0)


def months(*batches):
    """Return the sensors' signals and log10 of the concentration."""
    with np.load(FILE) as file:
        signals = np.concatenate([file[f"batch{batch}_x"] for batch in batches])
        ppm = np.concatenate([file[f"batch{batch}_ppm"] for batch in batches])
    return np.arcsinh(signals.astype(float)), np.log10(ppm.astype(float))


# 1. Half of the blocks of months 1 to 10 train the network, a quarter calibrates, one is held out.
signals, targets = months(1, 2)
part = rng.permutation(np.arange(-(-len(signals) // BLOCK)) % 4).repeat(BLOCK)[: len(signals)]
network = MLPRegressor(hidden_layer_sizes=(64, 32), alpha=1.0, max_iter=800, random_state=0)
model = make_pipeline(StandardScaler(), network).fit(signals[part < 2], targets[part < 2])


def stream_of(rows, truth, steps):
    """Return so many steps: blocks in random order, again and again, with a little noise."""
    count = len(rows) // BLOCK
    order = np.concatenate([rng.permutation(count) for _ in range(steps // (count * BLOCK) + 1)])
    at = (order[:, None] * BLOCK + np.arange(BLOCK)).ravel()[:steps]
    noise = 0.01 * rows.std(axis=0) * rng.normal(size=(steps, rows.shape[1]))
    known = {"targets": truth[at], "tolerance": TOLERANCE}
    return record(open_tap(model), rows[at] + noise, **known), truth[at]


calibration, _ = stream_of(signals[part == 2], targets[part == 2], 6000)
profile = tcuq.fit(calibration, alarm=tcuq.AlarmOptions(1 << 14))

# 2. Held-out readings of the same months, then those of months 11 to 13.
CALM, DRIFTED = 1000, 1000
calm, calm_truth = stream_of(signals[part == 3], targets[part == 3], CALM)
drifted, drifted_truth = stream_of(*months(3), DRIFTED)
monitor = tcuq.Monitor(profile)
traces = {"months 1 to 10": (calm, monitor.run(calm)), "later": (drifted, monitor.run(drifted))}
for name, (stream, trace) in traces.items():
    wrong, accepted = stream.labels == 1, ~trace.withheld
    print(f"{name}: {wrong.mean():.0%} wrong; {accepted.mean():.0%} accepted,"
          f" of these {wrong[accepted].mean():.0%} wrong; alarms: {len(trace.alarms)}")  # fmt: skip
first = min(traces["later"][1].alarms)
print(f"first alarm after {first} later readings: {traces['later'][1].alarms[first]}")

# 3. What this page says.
assert not traces["months 1 to 10"][1].alarms
assert first < 300
assert (drifted.labels == 1).mean() > 0.5

fig, axes = plt.subplots(figsize=(9, 3.5), layout="constrained")
steps = np.arange(CALM + DRIFTED)
ratios = [
    10 ** (s.outputs[:, 0] - truth) for s, truth in ((calm, calm_truth), (drifted, drifted_truth))
]
axes.semilogy(steps, np.concatenate(ratios), ".", markersize=3, label="reading over true value")
for ratio in (3 / 4, 4 / 3):
    axes.axhline(ratio, color="0.4", linewidth=0.8, linestyle="--")
axes.axvspan(CALM, CALM + DRIFTED, color="0.92", label="later months")
axes.axvline(CALM + first, color="tab:red", label="first alarm")
axes.set(xlabel="reading", ylim=(0.1, 10), xlim=(0, len(steps)))
axes.legend(loc="upper left")
fig.savefig("gas_regression.png", dpi=100)
