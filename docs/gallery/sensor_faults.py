# SPDX-License-Identifier: Apache-2.0
"""Sensor faults, caught by input health.

For anyone whose sensors can fail: a phone's accelerometer and gyroscope tell what people do. The
sensors then fail in five ways. Two monitors watch the same model: one reads its outputs and
features, the other also the *input health*, six statistics of the raw samples. Only the second
finds every fault, and it names the sensor.

Needs `pip install 'tcuq[fit,plot]'`, and in the folder `$TCUQ_DATA` the recordings of UCI's
data set HAPT as one file, `hapt-raw/hapt_raw.npz`. [How to use input health](../howto/health.md)
explains the statistics.
"""

import os
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tcuq
from tcuq.tap import open_tap, record

if "TCUQ_DATA" not in os.environ:
    raise SystemExit("set TCUQ_DATA to the folder of the data sets; the page says which it needs")
DATA = Path(os.environ["TCUQ_DATA"]) / "hapt-raw/hapt_raw.npz"
SENSORS = {"accelerometer": (0, 1, 2), "gyroscope": (3, 4, 5)}
UNIT = np.repeat([1 / 720, 0.00030543], 3)  # of one digit of the sensors, in g and rad/s
WINDOW, STEP = 128, 64  # samples at 50 Hz: 2.56 s, a step every 1.28 s
rng = np.random.default_rng(0)


def recordings(users):
    """Return (samples, activity of each sample) of every recording of these people."""
    parts = []
    with np.load(DATA) as file:
        for name in sorted(key for key in file if key.startswith("acc_")):
            experiment, user = map(int, re.findall(r"\d+", name))
            if user in users:
                samples = np.hstack([file[name], file[name.replace("acc", "gyro")]])
                activity = np.zeros(len(samples), int)
                for _, _, label, first, last in file["labels"][file["labels"][:, 0] == experiment]:
                    activity[first - 1 : last] = label if label <= 6 else 0
                parts.append((samples.astype(float), activity))
    return parts


def windows_of(samples):
    """Return windows (steps, samples, channels)."""
    return np.lib.stride_tricks.sliding_window_view(samples, WINDOW, 0)[::STEP].transpose(0, 2, 1)


def summary(windows):
    """Return the model's inputs: mean, spread and roughness of every channel."""
    parts = (windows.mean(1), windows.std(1), np.abs(np.diff(windows, axis=1)).mean(1))
    return np.hstack(parts)


def stream_of(parts, *, health):
    """Record the model on recordings."""
    windows = np.concatenate([windows_of(samples) for samples in parts])
    starts = np.cumsum([0, *(len(windows_of(samples)) for samples in parts[:-1])])
    watched = tcuq.health(windows / UNIT, tuple(SENSORS.values()), names=tuple(SENSORS))
    return record(
        open_tap(model), summary(windows), starts=starts, health=watched if health else None
    )


def stuck(samples):
    """The accelerometer repeats its last value."""
    samples[:, :3] = samples[0, :3]


def noise(samples):
    """Each channel gets noise."""
    samples += rng.normal(0, np.repeat([0.3, 0.6], 3), samples.shape)


def gain(samples):
    """Every channel reads 1.6 times the true value."""
    samples *= 1.6


def bias(samples):
    """The accelerometer has a constant offset."""
    samples[:, :3] += 0.3 / np.sqrt(3)


def dropout(samples):
    """A loose cable: three samples in ten are lost and the value before is read again."""
    for _ in range(len(samples) * 3 // 100):
        at = rng.integers(1, len(samples) - 10)
        samples[at : at + 10] = samples[at - 1]


# 1. A model of 12 people, calibrated on 10 others.
windows, activities = [], []
for samples, activity in recordings(range(1, 13)):
    windows.append(windows_of(samples))
    activities.append(activity[WINDOW // 2 :: STEP][: len(windows[-1])])
windows, activities = np.concatenate(windows), np.concatenate(activities)
model = make_pipeline(
    StandardScaler(), MLPClassifier((24,), "tanh", early_stopping=True, random_state=0)
)
model.fit(summary(windows[activities > 0]), activities[activities > 0])

people = [samples for samples, _ in recordings(range(13, 23))]
profiles = {name: tcuq.fit(stream_of(people, health=name == "with input health"))
            for name in ("outputs and features alone", "with input health")}  # fmt: skip

# 2. Two other people; the fault begins in the middle of the first recording and stays.
FAULTS = (stuck, noise, gain, bias, dropout)
delays, before = {name: [] for name in profiles}, 0
for fault in FAULTS:
    field = [samples for samples, _ in recordings((23, 24))]
    onset = len(field[0]) // 2
    whole = np.concatenate(field)
    fault(whole[onset:])
    field = np.split(whole, np.cumsum([len(part) for part in field])[:-1])
    print(f"{fault.__name__}:")
    for name, profile in profiles.items():
        alarms = tcuq.Monitor(profile).run(stream_of(field, health=profile.signals.health)).alarms
        before += sum(step < onset // STEP for step in alarms)
        first = min((step for step in alarms if step >= onset // STEP), default=None)
        delays[name].append(np.nan if first is None else (first - onset / STEP) * STEP / 50)
        text = "no alarm" if first is None else f"{delays[name][-1]:.0f} s, {alarms[first]}"
        print(f"  {name:<27} {text}")
print(f"alarms before a fault began: {before}")

# 3. What this page says: with input health every fault is found, within five minutes.
assert np.isnan(delays["outputs and features alone"]).any()
assert max(delays["with input health"]) < 300
assert before == 0

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for offset, (name, values) in zip((-0.2, 0.2), delays.items(), strict=True):
    longest = np.nanmax([*delays.values()])
    bars = ax.barh(np.arange(len(FAULTS)) + offset, np.nan_to_num(values), 0.38, label=name)
    ax.bar_label(bars, [f"{v:.0f} s" if v > 0 else "no alarm" for v in values], padding=3)
ax.set_yticks(range(len(FAULTS)), [fault.__name__ for fault in FAULTS])
ax.invert_yaxis()
ax.set(xlabel="seconds from the fault to the alarm", xlim=(0, 1.3 * longest))
ax.legend(loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
fig.savefig("sensor_faults.png", dpi=100)
