# SPDX-License-Identifier: Apache-2.0
"""PyTorch, with a tap on the last layer.

For anyone who trains with PyTorch: a network learned the digits 0 to 7. In the field it meets 8 and
9, which it has never seen, and names them with confidence. A tap records what the last layer reads,
the *features*. A monitor that sees them withholds more of the unknown digits than one that sees the
outputs alone, and its alarm comes sooner.

Needs `pip install 'tcuq[fit,torch,plot]'`; the pictures come with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import tcuq
from tcuq.tap import open_tap, record

torch.manual_seed(0)
rng = np.random.default_rng(0)
pictures, digits = load_digits(return_X_y=True)
pictures = torch.tensor(pictures / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
known = rng.permutation(np.flatnonzero(digits < 8))
training, recorded, later = np.split(known, [700, 1100])
unknown = np.flatnonzero(digits >= 8)

# 1. Train a model.
model = nn.Sequential(
    nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(144, 24), nn.Tanh(), nn.Linear(24, 8),
)  # fmt: skip
optimiser = torch.optim.Adam(model.parameters(), 3e-3)
for _ in range(20):
    for rows in np.array_split(rng.permutation(training), 20):
        loss = nn.functional.cross_entropy(model(pictures[rows]), torch.tensor(digits[rows]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def stream_of(rows, steps):
    """Show pictures for about five steps each, with camera noise, through the model and its tap."""
    shown = np.repeat(rng.choice(rows, steps // 5), 5)
    frames = pictures[shown] + 0.06 * torch.randn(steps, 1, 8, 8)
    return record(open_tap(model, kind="logits"), frames, starts=range(0, steps, 500))


# 2. Calibrate on known digits; run on known digits, then on unknown ones.
calibration, familiar, strange = (
    stream_of(recorded, 4000), stream_of(later, 1000), stream_of(unknown, 1000)
)  # fmt: skip


def alone(stream):
    """Return the outputs without the features."""
    return tcuq.Stream(stream.posteriors, kind=stream.kind, starts=stream.starts)


shares, delays = {}, {}
for name, part in (("outputs alone", alone), ("outputs and features", lambda stream: stream)):
    profile = tcuq.fit(part(calibration), alpha=0.1, budget=1.0)
    monitor = tcuq.Monitor(profile)
    traces = [monitor.run(part(stream)) for stream in (familiar, strange)]
    shares[name] = [trace.withheld.mean() for trace in traces]
    delays[name] = min(traces[1].alarms, default=np.inf)
    print(
        f"{name}: withholds {shares[name][0]:.0%} of known digits and {shares[name][1]:.0%} of"
        f" unknown ones; alarm {delays[name]} steps after they begin"
    )

# 3. What this page says: features show more unknown digits, and show them sooner.
assert shares["outputs and features"][1] > shares["outputs alone"][1]
assert delays["outputs and features"] < delays["outputs alone"]

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for offset, (name, values) in zip((0.2, -0.2), shares.items(), strict=True):
    bars = ax.barh(np.array([1, 0]) + offset, values, 0.38, label=name)
    ax.bar_label(bars, [f"{value:.0%}" for value in values], padding=3)
ax.set_yticks([1, 0], ["known digits", "unknown digits"])
ax.set(xlabel="share of predictions that the monitor withholds", xlim=(0, 1.1))
ax.legend(loc="upper right", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.savefig("pytorch_tap.png", dpi=100)
