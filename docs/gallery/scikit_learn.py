# SPDX-License-Identifier: Apache-2.0
"""A scikit-learn model of your own.

For anyone with a scikit-learn model: a small network reads the digits of a meter, one picture per
second. At second 1,500 the lens
fogs up. The model goes on answering, nearly always 2 or 4; the monitor withholds most answers and
raises an alarm. Of what is accepted under fog, a softmax threshold would choose better: the past
agrees with a label that is stuck. A model that is broken is the alarm's matter.

Needs `pip install 'tcuq[fit,plot]'`; the pictures come with scikit-learn.
"""

# 1. The data, and what stands for your recordings.
# Three parts that share no picture: one trains the model, one is recorded for calibration, one is
# the field. A meter shows a digit for about eight seconds, and the camera adds noise to each frame.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import tcuq
from tcuq.evaluation import compare
from tcuq.tap import open_tap, record

rng = np.random.default_rng(0)
pictures, digits = load_digits(return_X_y=True)
order = rng.permutation(len(digits))
training, recorded, later = np.split(order, [700, 1250])


def stream_of(rows, seconds, fog_from=None):
    """Show digits for about eight seconds each, with camera noise; fog takes contrast."""
    shown = np.repeat(rng.choice(rows, seconds // 8 + 1), 8)[:seconds]
    frames = np.clip(pictures[shown] + rng.normal(0, 1, (seconds, 64)), 0, 16)
    if fog_from is not None:
        frames[fog_from:] = 0.45 * frames[fog_from:] + 7
    return frames, digits[shown]


# 2. Your model.
# Anything with `predict_proba` will do.
model = MLPClassifier((24,), activation="tanh", max_iter=1000, random_state=0)
model.fit(pictures[training], digits[training])

# 3. Record it on data like those in the field, and calibrate a monitor.
# A *tap* runs the model and records, second by second, its probabilities and the features that its
# last layer reads. No labels are needed. `alpha` is the share of calibration that asks to be
# withheld, `budget` the share that may be withheld in the long run.
normal, _ = stream_of(recorded, 4000)
calibration = record(open_tap(model), normal, starts=range(0, 4000, 500))  # eight recordings
profile = tcuq.fit(calibration, alpha=0.1, budget=0.15)

# 4. Run the monitor in the field.
# It sees no labels. They are recorded here to compare it with a softmax threshold that accepts as
# many predictions: the most confident ones.
FOG = 1500
frames, truth = stream_of(later, 3000, fog_from=FOG)
stream = record(open_tap(model), frames, truth)
trace = tcuq.Monitor(profile).run(stream)

right = trace.label == stream.labels
fogged = np.arange(3000) >= FOG
results = {}
for name, part in (("clear", ~fogged), ("fogged", fogged)):
    results[name] = compare(profile, stream, trace, part)
    print(f"{name} lens: the model is right in {right[part].mean():.0%}. {results[name].sentence}")
first = min(step for step in trace.alarms if step >= FOG)
print(f"alarm {first - FOG} seconds after the lens fogged up: {trace.alarms[first]}")

# 5. What this page says, checked.
# Fog at least halves what is accepted, and raises an alarm. The errors among what is accepted under
# fog are fewer than the model makes there.
assert results["fogged"].coverage < results["clear"].coverage / 2
assert results["fogged"].error < 1 - right[fogged].mean() - 0.2
assert first - FOG < 500

# 6. The figure.
# Above, the risk that a prediction is wrong, what was withheld, and the alarms; the bar at the top
# is the fog. Below, how often the model is right, and how often the monitor accepts.
fig, (top, bottom) = plt.subplots(2, figsize=(9, 5), height_ratios=(2, 1), layout="constrained")
trace.plot(ax=top, shifted=fogged)
for values, name in ((right, "model is right"), (~trace.withheld, "monitor accepts")):
    bottom.plot(np.arange(99, 3000), np.convolve(values, np.ones(100) / 100, "valid"), label=name)
bottom.set(xlabel="second", ylabel="of the last 100", ylim=(0, 1.02), xlim=(0, 3000))
bottom.legend(loc="lower left")
fig.savefig("scikit_learn.png", dpi=100)
