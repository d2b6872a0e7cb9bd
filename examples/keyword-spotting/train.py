# SPDX-License-Identifier: Apache-2.0
"""Train MLPerf Tiny's DS-CNN on ten spoken digits and write it, in int8, as weights.h.

It trains on the training speakers alone. Weights get one scale per channel, activations one per
layer, from the training clips; both are symmetric, so that padding is 0. A few minutes on one core.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

import clips

HERE = Path(__file__).resolve().parent
CHANNELS, BLOCKS, CLASSES = 64, 4, 10
EPOCHS, BATCH, LEARNING_RATE, WEIGHT_DECAY = 24, 64, 4e-3, 1e-4
PLACEMENTS = 6  # of every clip, used in turn
FLOOR_DB = (-70.0, -20.0)  # louder than a microphone's own noise, for robustness
SHIFTS = 30  # fractional bits of the multiplier from a sum to the next layer's codes
MOST = 0.9999  # quantile of a layer's values at its largest code
EXP_STEPS = 256


class Layer(nn.Module):
    """A convolution, normalised and rectified."""

    def __init__(
        self, inputs: int, size: tuple[int, int], pad: tuple[int, ...], **options: int
    ) -> None:
        super().__init__()
        self.pad = pad
        self.convolution = nn.Conv2d(inputs, CHANNELS, size, bias=False, **options)
        self.norm = nn.BatchNorm2d(CHANNELS)

    def forward(self, values: Tensor) -> Tensor:
        """Return the values of the next layer."""
        return functional.relu(self.norm(self.convolution(functional.pad(values, self.pad))))

    def folded(self) -> tuple[Tensor, Tensor]:
        """Return the convolution's weights and biases with the normalisation folded in."""
        gain = self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)
        bias = self.norm.bias - self.norm.running_mean * gain
        return self.convolution.weight * gain[:, None, None, None], bias


class DsCnn(nn.Module):
    """A convolution, four depthwise separable ones, the mean over all places, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        layers = [Layer(1, (10, 4), (1, 1, 4, 5), stride=2)]
        for _ in range(BLOCKS):
            layers += [Layer(CHANNELS, (3, 3), (1, 1, 1, 1), groups=CHANNELS)]
            layers += [Layer(CHANNELS, (1, 1), (0, 0, 0, 0))]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(CHANNELS, CLASSES)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        for at, layer in enumerate(self.layers):
            values = layer(values)
            if at in (0, len(self.layers) - 1):
                values = functional.dropout(values, 0.2, self.training)
        return self.head(values.mean(dim=(2, 3)))


def as_tensor(codes: NDArray[np.int8]) -> Tensor:
    """Convert the network's inputs to float: a code is 1/16."""
    return torch.from_numpy(codes.astype(np.float32) / clips.CODES).unsqueeze(1)


def train(part: clips.Clips, seed: int) -> DsCnn:
    """Train on these clips, placed anew in each of a few epochs."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = DsCnn().to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    batches = len(part.digits) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, EPOCHS * batches)
    placements = [
        as_tensor(clips.inputs(clips.place_in_noise(part.sounds, rng, FLOOR_DB)))
        for _ in range(PLACEMENTS)
    ]
    y = torch.from_numpy(part.digits)
    for epoch in range(EPOCHS):
        x, total = placements[epoch % PLACEMENTS], 0.0
        for rows in torch.from_numpy(rng.permutation(len(y))[: batches * BATCH]).view(batches, -1):
            with torch.autocast("cpu", torch.bfloat16):
                loss = functional.cross_entropy(network(x[rows]), y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1:2d}/{EPOCHS}  loss {total / batches:.4f}", flush=True)
    return network.eval()


@torch.no_grad()
def ranges(network: DsCnn, values: Tensor) -> list[float]:
    """Return the value of the largest code of each layer's output, then of the logits."""
    tops = []
    for layer in network.layers:
        values = layer(values)
        tops.append(float(np.quantile(values.numpy(), MOST)))
    logits = network.head(values.mean(dim=(2, 3)))
    return [*tops, float(np.quantile(logits.abs().numpy(), MOST))]


def quantise(weight: Tensor, bias: Tensor, scale: float, scale_out: float) -> dict[str, Tensor]:
    """Convert a layer to int8 weights, int32 biases and multipliers to the output's codes."""
    step = weight.flatten(1).abs().amax(dim=1) / 127
    codes = torch.round(weight / step.view(-1, *[1] * (weight.dim() - 1)))
    rescaling = torch.round(step.double() * scale / scale_out * 2**SHIFTS)
    assert rescaling.max() < 2**31  # noqa: S101 - or the next layer's scale is far too small
    return {
        "weights": codes.flatten(1) if weight.dim() < 4 else codes.permute(0, 2, 3, 1).flatten(1),
        "biases": torch.round(bias.double() / (step.double() * scale)),
        "rescaling": rescaling,
    }


@torch.no_grad()
def write_header(network: DsCnn, values: Tensor, path: Path) -> None:
    """Write the network as C arrays."""
    tops = ranges(network, values)
    # uint8 between the layers; int8 before the mean, whose codes are the monitor's features.
    scales = [1 / clips.CODES, *(top / 255 for top in tops[:-2]), tops[-2] / 127, tops[-1] / 127]
    pairs = [layer.folded() for layer in network.layers]
    pairs.append((network.head.weight, network.head.bias))
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Written by train.py: a DS-CNN for ten spoken digits, in int8. */",
        "#include <stdint.h>",
        f"#define RESCALING_BITS {SHIFTS}",
        f"#define FEATURE_SCALE {scales[-2]:.6g}",
    ]
    for at, (weight, bias) in enumerate(pairs):
        name = "head" if at == len(pairs) - 1 else f"layer{at}"
        layer = quantise(weight, bias, scales[at], scales[at + 1])
        for part, kind in (("weights", "int8_t"), ("biases", "int32_t"), ("rescaling", "int32_t")):
            lines += c_array(f"{name}_{part}", kind, layer[part].numpy().ravel())
    # Exponential, in 1/65535, of a logit this many codes below the largest.
    table = np.rint(65535 * np.exp(-np.arange(EXP_STEPS) * scales[-1]))
    lines += c_array("exponentials", "uint16_t", table)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def c_array(name: str, kind: str, values: NDArray[np.floating]) -> list[str]:
    """Return the lines of one constant array."""
    text = [str(int(value)) for value in values]
    rows = [",".join(text[at : at + 24]) for at in range(0, len(text), 24)]
    return [f"static const {kind} {name}[{len(text)}] = {{", ",\n".join(rows), "};"]


def main() -> None:
    """Train, print the accuracy in float, write weights.h."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TCUQ_DATA", ".")))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)  # the fast setting for so small a network, and reproducible
    torch.use_deterministic_algorithms(mode=True)
    parts = clips.audiomnist(args.data)
    network = train(parts["train"], args.seed)
    rng = np.random.default_rng(args.seed)
    write_header(
        network,
        as_tensor(clips.inputs(clips.place_in_noise(parts["train"].sounds, rng))),
        HERE / "weights.h",
    )
    held_out = parts["calibration"]
    with torch.no_grad():
        predicted = network(
            as_tensor(clips.inputs(clips.place_in_noise(held_out.sounds, rng)))
        ).argmax(dim=1)
    right = (predicted.numpy() == held_out.digits).mean()
    print(f"{right:.2%} of the calibration speakers' clips right, in float")


if __name__ == "__main__":
    main()
