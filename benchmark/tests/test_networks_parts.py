# SPDX-License-Identifier: Apache-2.0
"""Front end, losses and densities of the networks, each against its definition."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.stats import dirichlet

from tcuq_benchmark.data.samples import Array
from tcuq_benchmark.networks import frontend, objectives, variants, weights
from tcuq_benchmark.networks.network import mean_posterior
from tcuq_benchmark.networks.posterior import RadialFlows, expected_loss

Augment = Callable[[Array, np.random.Generator], Array]


def test_cepstra_are_those_of_the_definition() -> None:
    """One frame computed by hand: window, magnitudes, mel triangles, logarithm, cosine sum."""
    rng = np.random.default_rng(0)
    clip = (rng.standard_normal(16_000) * 2000).astype(np.int16)
    result = frontend.cepstra(clip[None])
    assert result.shape == (1, 49, 10)
    frame = 7
    signal = clip[frame * 320 : frame * 320 + 480] / np.abs(clip.astype(int)).max()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)
    magnitude = np.abs(np.fft.rfft(signal * window, 512))
    mel = 1127 * np.log(1 + np.arange(257) * 31.25 / 700)
    low, high = (1127 * np.log(1 + f / 700) for f in (20, 4000))
    edges = np.linspace(low, high, 42)
    energy = [np.interp(mel, edges[i : i + 3], [0, 1, 0]) @ magnitude for i in range(40)]
    n = np.arange(40)
    expected = [
        2 * np.log(np.array(energy) + 1e-6) @ np.cos(np.pi * k * (2 * n + 1) / 80) / 80**0.5
        for k in range(10)
    ]
    np.testing.assert_allclose(result[0, frame], expected, rtol=1e-3, atol=1e-3)


def test_loudness_does_not_reach_the_network() -> None:
    """The front end divides by the peak, so half as loud is the same."""
    clip = (np.random.default_rng(1).standard_normal((1, 16_000)) * 2000).astype(np.int16) * 2
    np.testing.assert_allclose(
        frontend.cepstra(clip), frontend.cepstra(clip // 2), rtol=1e-4, atol=1e-4
    )


def test_augmentation_keeps_shape_and_follows_the_generator() -> None:
    """The same generator gives the same samples; a turn and gain keep a signal's length nearly."""
    rng = np.random.default_rng(2)
    signal = rng.standard_normal((6, 128, 6)).astype(np.float32)
    raw: list[tuple[Augment, Array]] = [
        (frontend.crop_and_flip, rng.integers(0, 256, (6, 32, 32, 3)).astype(np.uint8)),
        (frontend.augment_clips, (rng.standard_normal((6, 16_000)) * 500).astype(np.int16)),
        (frontend.augment_motion, signal),
    ]
    for augment, x in raw:
        first, again = (augment(x, np.random.default_rng(5)) for _ in range(2))
        assert first.shape == x.shape
        assert not np.array_equal(first, x)
        np.testing.assert_array_equal(first, again)
    worn = frontend.augment_motion(signal, np.random.default_rng(6))
    before, after = (np.linalg.norm(v[:, :, :3], axis=2) for v in (signal, worn))
    gain = after / before
    np.testing.assert_allclose(gain, gain[:, :1].repeat(128, axis=1), rtol=1e-4)


def test_radial_flows_are_densities() -> None:
    """The density of every class integrates to one over the plane."""
    torch.manual_seed(0)
    flows = RadialFlows(classes=3, latent=2, flows=4)
    with torch.no_grad():
        flows.strength.uniform_(0, 2)
        axis = torch.linspace(-9, 9, 361)
        plane = torch.cartesian_prod(axis, axis)
        mass = flows(plane).exp().sum(dim=0) * (axis[1] - axis[0]) ** 2
    np.testing.assert_allclose(mass.numpy(), 1, atol=2e-2)


def test_expected_loss_falls_as_evidence_for_the_label_grows() -> None:
    """More of the label's Dirichlet parameter, less loss; the entropy is SciPy's."""
    labels = torch.tensor([0])
    weak, strong = (torch.tensor([[a, 1.0, 1.0]]) for a in (2.0, 50.0))
    assert expected_loss(strong, labels, 0.0) < expected_loss(weak, labels, 0.0)
    difference = expected_loss(weak, labels, 0.0) - expected_loss(weak, labels, 1.0)
    assert float(difference) == pytest.approx(dirichlet([2.0, 1.0, 1.0]).entropy(), rel=1e-5)


def test_assistance_follows_the_recipe() -> None:
    """Exits stand after the recipe's stages with its weights; the network has the base's parts."""
    network, assisted = variants.assisted("cifar10", "assisted", 0)
    assert (assisted.at, assisted.head) == (("stages.0", "stages.1"), "head")
    assert (assisted.weights, assisted.transfer_rate) == ([3.5, 4.0], 1e-3)
    base = weights.of(variants.network("cifar10", "base", 0))
    stripped = weights.without_exits(weights.of(assisted))
    assert stripped.keys() == base.keys() == weights.of(network).keys()
    for name, values in base.items():
        np.testing.assert_array_equal(stripped[name], values)


def test_distillation_loss_is_zero_when_heads_match_teachers() -> None:
    """The divergence is zero for equal posteriors and positive otherwise."""
    heads = [torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.0, 2.0, 0.0]])]
    assert objectives.distillation(heads, heads, 2.0).abs() < 1e-6
    assert objectives.distillation(heads, heads[::-1], 2.0) > 0.1


def test_the_mean_posterior_is_the_mean_of_posteriors() -> None:
    """Softmax of what stands for logits gives the average of the heads' softmax."""
    heads = [torch.tensor([[1.0, 0.0, -1.0]]), torch.tensor([[0.0, 2.0, 0.0]])]
    mean = torch.stack([head.softmax(dim=1) for head in heads]).mean(dim=0)
    torch.testing.assert_close(mean_posterior(heads).softmax(dim=1), mean)
