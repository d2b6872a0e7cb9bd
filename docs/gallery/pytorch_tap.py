# SPDX-License-Identifier: Apache-2.0
"""PyTorch, with a tap on the last layer.

For anyone who trains with PyTorch: a network learned the digits 0 to 7. In the field it meets 8 and
9, which it has never seen, and names them with confidence. A tap records what the last layer reads,
the *features*. A monitor that sees them withholds more of the unknown digits than one that sees the
outputs alone, and its alarm comes sooner.

Then the camera breaks in three ways that calibration never saw. At equal coverage the monitor
accepts about as many wrong labels as a softmax threshold: slightly more in the shade, fewer with
the other two. A *stress stream* changes nothing for this network; [on
others](../howto/record.md#stress) it helped where a fault broke the network.

Needs `pip install 'tcuq[fit,torch,plot]'`; the pictures come with scikit-learn.
"""

# 1. Train a model.
# Digits 0 to 7 alone. One part of their pictures trains, one is recorded for calibration, one is
# the field.
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import tcuq
from tcuq.tap import open_tap, record, stress

torch.manual_seed(0)
rng = np.random.default_rng(0)
pictures, digits = load_digits(return_X_y=True)
pictures = torch.tensor(pictures / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
known = rng.permutation(np.flatnonzero(digits < 8))
training, recorded, later = np.split(known, [700, 1100])
unknown = np.flatnonzero(digits >= 8)

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

# 2. Record it.
# A picture stays for about five steps, with camera noise. `open_tap` finds the last layer; the
# outputs are logits, which is never guessed.
tap = open_tap(model, kind="logits")


def frames_of(rows, steps):
    """Return pictures as the camera shows them, and their digits."""
    shown = np.repeat(rng.choice(rows, steps // 5), 5)
    return pictures[shown] + 0.06 * torch.randn(steps, 1, 8, 8), digits[shown]


normal, _ = frames_of(recorded, 4000)
familiar, truth = frames_of(later, 1000)
strange, _ = frames_of(unknown, 1000)
calibration = record(tap, normal, starts=range(0, 4000, 500))  # eight recordings

# 3. Calibrate on known digits; run on known digits, then on unknown ones.
# Once without the features, once with them.


def alone(stream):
    """Return the outputs without the features."""
    return tcuq.Stream(stream.posteriors, kind=stream.kind, starts=stream.starts)


shares, delays = {}, {}
for name, part in (("outputs alone", alone), ("outputs and features", lambda stream: stream)):
    profile = tcuq.fit(part(calibration), alpha=0.1, budget=1.0)
    monitor = tcuq.Monitor(profile)
    traces = [monitor.run(part(record(tap, frames))) for frames in (familiar, strange)]
    shares[name] = [trace.withheld.mean() for trace in traces]
    delays[name] = min(traces[1].alarms, default=np.inf)
    print(
        f"{name}: withholds {shares[name][0]:.0%} of known digits and {shares[name][1]:.0%} of"
        f" unknown ones; alarm {delays[name]} steps after they begin"
    )

# 4. Let the fit see broken sensors, and test what it changed.
# `stress` runs the recorded inputs through generic faults: gain, dimming, noise, offset, dropout,
# clipping, freezing, a dead channel. A prediction that changes is an error; no labels are needed.
# Where such errors come with unusual features, `fit` raises the weight of novelty in the risk.
# Otherwise, as here, it leaves all weights as they are. It costs twice the time of a recording.
#
# Test it on faults that stress does not hold, at equal coverage: keep the half of all steps that a
# softmax threshold, the monitor, and the monitor fitted with stress trust most, and count errors.
stressed = stress(tap, normal)
with_stress = tcuq.fit(calibration, stress=stressed, alpha=0.1, budget=1.0)
changed = stressed.posteriors.argmax(axis=1) != stressed.labels
raised = [
    after.weight > before.weight
    for before, after in zip(profile.score.terms, with_stress.score.terms, strict=True)
]
print(
    f"stress changes {changed.mean():.1%} of predictions; weights of the risk that it raises:"
    f" {sum(raised)} of {len(raised)}"
)

columns, rows = np.ones(8, np.float32), np.ones((8, 1), np.float32)
columns[:4], rows[3:5] = 0.15, 0
faults = {
    "left half in the shade": lambda frames: frames * columns,
    "two rows dark": lambda frames: frames * rows,
    "lens moved by two pixels": lambda frames: torch.roll(frames, 2, 3),
}
errors = {}
for name, fault in faults.items():
    stream = record(tap, torch.cat([familiar, fault(familiar)]), np.tile(truth, 2))
    wrong = stream.posteriors.argmax(axis=1) != stream.labels
    doubts = {
        "softmax threshold": -torch.tensor(stream.posteriors).softmax(1).amax(1).numpy(),
        "monitor": tcuq.Monitor(profile).run(stream).risk,
        "monitor with stress": tcuq.Monitor(with_stress).run(stream).risk,
    }
    errors[name] = {
        by: wrong[np.argsort(doubt, kind="stable")[: len(wrong) // 2]].mean()
        for by, doubt in doubts.items()
    }
    figures = ", ".join(f"{by} {error:.1%}" for by, error in errors[name].items())
    print(f"{name}: {wrong[1000:].mean():.0%} wrong; of the half trusted most: {figures}")

# 5. What this page says, checked.
# Features show more unknown digits, and show them sooner. At equal coverage the monitor is level
# with the softmax threshold, with stress and without.
assert shares["outputs and features"][1] > shares["outputs alone"][1]
assert delays["outputs and features"] < delays["outputs alone"]
for error in errors.values():
    assert error["monitor"] < error["softmax threshold"] + 0.02
    assert abs(error["monitor with stress"] - error["monitor"]) < 0.01

# 6. The figure.
# Left: what the monitors withhold. Right: wrong labels among the half of all steps trusted most.
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")


def bars(ax, names, series, text):
    """Draw one group of bars per name, from the top, and one bar of each group per series."""
    height = 0.8 / len(series)
    for number, (label, values) in enumerate(series.items()):
        at = -np.arange(len(names)) - (number - (len(series) - 1) / 2) * height
        ax.bar_label(ax.barh(at, values, 0.95 * height, label=label), fmt=text, padding=3)
    ax.set_yticks(-np.arange(len(names)), names)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)


bars(left, ["known digits", "unknown digits"], shares, lambda value: f"{value:.0%}")
left.set(xlabel="share of predictions that the monitor withholds", xlim=(0, 1.1))
by_name = {by: [error[by] for error in errors.values()] for by in doubts}
bars(right, list(faults), by_name, lambda value: f"{value:.1%}")
right.set(xlabel="wrong, of the half of all steps trusted most", xlim=(0, 0.17))
fig.savefig("pytorch_tap.png", dpi=100)
