# SPDX-License-Identifier: Apache-2.0
"""Train a small 1D-CNN on the raw HAPT signals and record its outputs, stream by stream.

The users are split disjointly into training, development, calibration and test users. Each
output file holds the logits and pooled features of consecutive windows in recorded order.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WINDOW, HOP, TRAIN_HOP = 128, 64, 32  # samples at 50 Hz; training windows overlap more
N_CLASSES, N_FEATURES = 7, 32
CLASS_NAMES = (
    "walking", "walking_upstairs", "walking_downstairs",
    "sitting", "standing", "laying", "transition",
)  # fmt: skip
SPLIT = {"train": 12, "development": 3, "calibration": 10, "test": 5}  # users

# Training recipe, chosen by accuracy on the development users only.
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 30, 64, 2e-3, 1e-3
BALANCE = 0.5  # class weight = frequency ** -BALANCE
JITTER_DEGREES, JITTER_GAIN = 8.0, 0.03  # standard deviations of the augmentation

# Faults in physical units, at severity 1, fixed before any result was known.
FAULTS = ("noise", "gain", "bias", "rotation", "dropout", "stuck")
NOISE_ACC, NOISE_GYRO = 0.3, 0.6  # g, rad/s, standard deviation on each channel
GAIN_EXCESS = 0.6  # every channel reads 1.6 times too much
BIAS_ACC, BIAS_GYRO = 0.3, 0.2  # g, rad/s, length of the constant offset
ROTATION_DEGREES = 40.0
DROPOUT_FRACTION, DROPOUT_BURST = 0.3, 10.0  # share of samples lost, mean burst in samples
SEGMENT_WINDOWS = (45, 76)  # length of a clean or faulted segment in the development mix
SEVERITY = (0.5, 1.5)  # range of the multiplier in the development mix


@dataclass(frozen=True)
class Recording:
    """One continuous recording; `active` marks the samples on which a fault acts."""

    exp: int
    user: int
    signal: Floats  # (n, 6): acc in g, gyro in rad/s
    label: Ints  # (n,), -1 where unlabelled
    active: Bools  # (n,)


def load(path: Path) -> list[Recording]:
    """Read all the recordings, ordered by experiment number."""
    recordings = []
    with np.load(path) as data:
        table = data["labels"]
        for name in sorted(k for k in data.files if k.startswith("acc_")):
            exp, user = (int(v) for v in re.findall(r"\d+", name))
            parts = [data[name], data[name.replace("acc_", "gyro_")]]
            signal = np.concatenate(parts, axis=1).astype(np.float32)
            label = np.full(len(signal), -1, dtype=np.int64)
            for _, _, activity, first, last in table[table[:, 0] == exp]:
                label[first - 1 : last] = min(activity, N_CLASSES) - 1
            active = np.zeros(len(signal), dtype=np.bool_)
            recordings.append(Recording(exp, user, signal, label, active))
    return recordings


def split_users(recordings: list[Recording], seed: int) -> dict[str, list[Recording]]:
    """Split the users into disjoint parts by a seeded permutation."""
    users = np.unique([r.user for r in recordings])
    users = np.random.default_rng(seed).permutation(users)
    ends = np.cumsum(list(SPLIT.values()))
    groups = {part: set(users[e - SPLIT[part] : e]) for part, e in zip(SPLIT, ends, strict=True)}
    return {part: [r for r in recordings if r.user in who] for part, who in groups.items()}


def windows(recording: Recording, hop: int = HOP) -> tuple[Floats, Ints, Bools]:
    """Cut a recording into (n, 6, WINDOW) signals, centre labels and fault flags."""
    starts = np.arange(0, len(recording.signal) - WINDOW + 1, hop)
    index = starts[:, None] + np.arange(WINDOW)
    signal = np.ascontiguousarray(recording.signal[index].transpose(0, 2, 1))
    return signal, recording.label[starts + WINDOW // 2], recording.active[index].any(axis=1)


def rotation(axis: NDArray[np.float64], angle: float) -> NDArray[np.float64]:
    """Rotation matrix about an axis by an angle in radians (Rodrigues)."""
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    matrix: NDArray[np.float64] = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)
    return matrix


def lost_samples(n: int, fraction: float, rng: np.random.Generator) -> Bools:
    """Mark bursts of lost samples: geometric bursts and gaps with the wanted share."""
    lost = np.zeros(n, dtype=np.bool_)
    mean_gap = DROPOUT_BURST * (1 - fraction) / fraction
    at = 0
    while at < n:
        burst = int(rng.geometric(1 / DROPOUT_BURST))
        lost[at : at + burst] = True
        at += burst + int(rng.geometric(1 / mean_gap))
    return lost


def with_fault(
    recording: Recording, kind: str, span: slice, severity: float, rng: np.random.Generator
) -> Recording:
    """Return the recording with one fault on the samples of `span`."""
    signal, active = recording.signal.copy(), recording.active.copy()
    part = signal[span].astype(np.float64)
    if kind == "noise":
        part += severity * rng.normal(size=part.shape) * np.repeat([NOISE_ACC, NOISE_GYRO], 3)
    elif kind == "gain":
        part *= 1 + severity * GAIN_EXCESS
    elif kind == "bias":
        offset = rng.normal(size=(2, 3))
        offset /= np.linalg.norm(offset, axis=1, keepdims=True)
        part += severity * (offset * [[BIAS_ACC], [BIAS_GYRO]]).ravel()
    elif kind == "rotation":
        turn = rotation(rng.normal(size=3), np.radians(severity * ROTATION_DEGREES))
        part = (part.reshape(-1, 2, 3) @ turn.T).reshape(-1, 6)
    elif kind == "dropout":
        part[lost_samples(len(part), severity * DROPOUT_FRACTION, rng)] = 0.0
    elif kind == "stuck":  # all or nothing, so severity does not enter
        axis = rng.integers(3)
        part[:, axis] = part[0, axis]
    else:
        raise ValueError(f"unknown fault {kind!r}")
    signal[span], active[span] = part, True
    return Recording(recording.exp, recording.user, signal, recording.label, active)


def second_recordings(recordings: list[Recording]) -> list[Recording]:
    """Return the second recording of each user."""
    users = sorted({r.user for r in recordings})
    return [[r for r in recordings if r.user == user][1] for user in users]


def concatenate(recordings: list[Recording]) -> Recording:
    """Concatenate recordings into one."""
    first = recordings[0]
    columns = [[getattr(r, name) for r in recordings] for name in ("signal", "label", "active")]
    return Recording(first.exp, first.user, *(np.concatenate(column) for column in columns))


def fault_stream(recordings: list[Recording], kind: str, seed: int) -> list[Recording]:
    """Two runs of recordings; in each the fault starts in the middle of the first and stays."""
    rng = np.random.default_rng([seed, 1, FAULTS.index(kind)])
    middle = len(recordings) // 2
    stream: list[Recording] = []
    for run in (recordings[:middle], recordings[middle:]):
        whole = concatenate(run)
        onset = len(run[0].signal) // 2
        whole = with_fault(whole, kind, slice(onset, len(whole.signal)), 1.0, rng)
        cuts = np.cumsum([0, *(len(r.signal) for r in run)])
        for recording, begin, end in zip(run, cuts[:-1], cuts[1:], strict=True):
            columns = (whole.signal[begin:end], whole.label[begin:end], whole.active[begin:end])
            stream.append(Recording(recording.exp, recording.user, *columns))
    return stream


def mixed_stream(recordings: list[Recording], seed: int) -> list[Recording]:
    """Recordings in which clean and faulted segments alternate, the first one clean."""
    rng = np.random.default_rng([seed, 2])
    deck: list[str] = []
    mixed = []
    for clean in recordings:
        recording, at, fault_next = clean, 0, False
        while at < len(recording.signal):
            span = slice(at, at + HOP * int(rng.integers(*SEGMENT_WINDOWS)))
            if fault_next:
                # A shuffled list, used in turn, makes sure that every kind occurs.
                deck = deck or [str(kind) for kind in rng.permutation(FAULTS)]
                recording = with_fault(recording, deck.pop(), span, rng.uniform(*SEVERITY), rng)
            at, fault_next = span.stop, not fault_next
        mixed.append(recording)
    return mixed


class Network(nn.Module):
    """Four convolutions, average pooling to N_FEATURES, one linear layer."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        """Normalise channels with the given mean and standard deviation, both (6,)."""
        super().__init__()
        self.register_buffer("mean", mean.view(1, 6, 1))
        self.register_buffer("std", std.view(1, 6, 1))
        layers: list[nn.Module] = []
        shapes = [(6, 32, 7, 2), (32, 48, 5, 2), (48, 64, 5, 2), (64, N_FEATURES, 3, 1)]
        for inputs, outputs, size, stride in shapes:
            layers += [
                nn.Conv1d(inputs, outputs, size, stride, size // 2, bias=False),
                nn.BatchNorm1d(outputs),
                nn.ReLU(),
            ]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(N_FEATURES, N_CLASSES)

    def forward(self, signal: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and pooled features."""
        features = self.body((signal - self.mean) / self.std).mean(dim=2)
        return self.head(features), features


def augment(signal: Tensor, rng: torch.Generator) -> Tensor:
    """A small random turn and gain for each window, as phones never sit quite the same."""
    n = len(signal)
    vector = torch.randn(n, 3, generator=rng) * (np.radians(JITTER_DEGREES) / 3**0.5)
    x, y, z = vector.unbind(1)
    zero = torch.zeros(n)
    skew = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).view(n, 3, 3)
    turn = torch.linalg.matrix_exp(skew)
    turned = torch.cat([turn @ signal[:, :3], turn @ signal[:, 3:]], dim=1)
    return turned * (1 + JITTER_GAIN * torch.randn(n, 1, 1, generator=rng))


def train(recordings: list[Recording], seed: int) -> Network:
    """Train on the labelled windows of the given recordings."""
    torch.manual_seed(seed)
    rng = torch.Generator().manual_seed(seed)
    cut = [windows(r, TRAIN_HOP) for r in recordings]
    x = torch.from_numpy(np.concatenate([c[0] for c in cut]))
    y = torch.from_numpy(np.concatenate([c[1] for c in cut]))
    network = Network(x.mean(dim=(0, 2)), x.std(dim=(0, 2)))
    x, y = x[y >= 0], y[y >= 0]
    weight = torch.bincount(y, minlength=N_CLASSES).float() ** -BALANCE
    loss_of = nn.CrossEntropyLoss(weight / weight.mean())
    optimiser = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * (len(x) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, steps)
    for epoch in range(EPOCHS):
        total = 0.0
        order = torch.randperm(len(x), generator=rng)
        for batch in order[: len(x) // BATCH * BATCH].view(-1, BATCH):
            loss = loss_of(network(augment(x[batch], rng))[0], y[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1:2d}/{EPOCHS}  loss {total / (len(x) // BATCH):.4f}", flush=True)
    return network.eval()


@torch.no_grad()
def record(network: Network, recordings: list[Recording], scale: float) -> dict[str, Any]:
    """Return the arrays of one stream file."""
    cut = [windows(r) for r in recordings]
    outputs = [network(torch.from_numpy(c[0])) for c in cut]
    features = torch.cat([s[1] for s in outputs]).numpy()
    lengths = [len(c[0]) for c in cut]
    return {
        "posteriors": torch.cat([s[0] for s in outputs]).numpy().astype(np.float16),
        "kind": np.array("logits"),
        "features": np.clip(np.rint(features / scale), -128, 127).astype(np.int8),
        "feature_scale": np.array(scale, dtype=np.float64),
        "labels": np.concatenate([c[1] for c in cut]).astype(np.int8),
        "starts": np.cumsum([0, *lengths[:-1]]).astype(np.int32),
        "shifted": np.concatenate([c[2] for c in cut]),
        "class_names": np.array(CLASS_NAMES),
    }


@torch.no_grad()
def feature_scale(network: Network, recordings: list[Recording]) -> float:
    """Return the step of the int8 features at which almost no training window saturates."""
    features = [network(torch.from_numpy(windows(r)[0]))[1].numpy() for r in recordings]
    return float(np.quantile(np.concatenate(features), 0.9999) / 127)


def accuracy(stream: dict[str, Any], shifted: bool) -> str:
    """Return the accuracy on the labelled windows with or without the fault, as a table cell."""
    chosen = (stream["labels"] >= 0) & (stream["shifted"] == shifted)
    right = stream["posteriors"].argmax(axis=1) == stream["labels"]
    return f"{100 * right[chosen].mean():.1f} % of {chosen.sum()}" if chosen.any() else "-"


def main() -> None:
    """Train, record all the streams, print a table of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    data = Path(os.environ.get("TCUQ_DATA", ".")) / "hapt-raw" / "hapt_raw.npz"
    out = Path(__file__).resolve().parents[2] / "src" / "tcuq" / "data" / "hapt"
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--out", type=Path, default=out)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the fast setting for so small a network, and reproducible
    torch.use_deterministic_algorithms(True)
    parts = split_users(load(args.data), args.seed)
    for part, recordings in parts.items():
        print(part, "users", *sorted({r.user for r in recordings}))
    began = time.perf_counter()
    network = train(parts["train"], args.seed)
    count = sum(p.numel() for p in network.parameters())
    print(f"{count} parameters, trained in {time.perf_counter() - began:.0f} s")
    develop, test = parts["development"], parts["test"]
    streams = {
        "calibration": parts["calibration"],
        "test": test,
        "development": develop + mixed_stream(second_recordings(develop), args.seed),
    } | {f"fault_{kind}": fault_stream(test, kind, args.seed) for kind in FAULTS}
    scale = feature_scale(network, parts["train"])
    args.out.mkdir(parents=True, exist_ok=True)
    print("| stream | recordings | steps | clean accuracy | faulted accuracy | bytes |")
    for name, recordings in streams.items():
        stream = record(network, recordings, scale)
        path = args.out / f"{name}.npz"
        np.savez_compressed(path, **stream)
        cells = [name, len(recordings), len(stream["labels"])]
        cells += [accuracy(stream, False), accuracy(stream, True), path.stat().st_size]
        print("|", " | ".join(str(c) for c in cells), "|")


if __name__ == "__main__":
    main()
