# SPDX-License-Identifier: Apache-2.0
"""Temporal assistance on networks of several kinds, by its definition in the paper."""

import subprocess
import sys
from typing import Any

import pytest

from tcuq.errors import InputError

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from tcuq.train import Assisted, ramp  # noqa: E402

N, CLASSES = 12, 3
LABELS = torch.arange(N) % CLASSES
SIX, SIX_LABELS = torch.randn(6, 4), torch.arange(6) % 2


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, 1, 1)
        self.second = nn.Conv2d(width, width, 3, 1, 1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, values: Tensor) -> Tensor:
        """Return the rectified sum."""
        return functional.relu(values + self.norm(self.second(self.first(values).relu())))


class Residual(nn.Module):
    """A stem, two residual layers, a mean over the map and a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, 2, 1)
        self.layer1, self.layer2 = Block(4), Block(4)
        self.fc = nn.Linear(4, CLASSES)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        maps = self.layer2(self.layer1(self.stem(values)))
        logits: Tensor = self.fc(maps.mean(dim=(2, 3)))
        return logits


def mlp() -> nn.Module:
    """Two hidden layers, one normalised."""
    hidden = [nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(inplace=True), nn.Linear(8, 4)]
    return nn.Sequential(*hidden, nn.ReLU(), nn.Linear(4, CLASSES))


def images() -> nn.Module:
    """Two convolutions over an image, flattened into a linear head."""
    first = nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.BatchNorm2d(4), nn.ReLU())
    second = nn.Sequential(nn.Conv2d(4, 3, 3), nn.ReLU(), nn.Dropout(0.1))
    return nn.Sequential(first, second, nn.Flatten(), nn.Linear(3, CLASSES))


def over_time() -> nn.Module:
    """Two convolutions over time and a convolution with a kernel of 1 as the head."""
    first = nn.Sequential(nn.Conv1d(2, 4, 5), nn.BatchNorm1d(4), nn.ReLU())
    second = nn.Sequential(nn.Conv1d(4, 5, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1))
    return nn.Sequential(first, second, nn.Conv1d(5, CLASSES, 1, bias=False), nn.Flatten())


NETWORKS: dict[str, tuple[Any, tuple[int, ...], list[str], str]] = {
    "mlp": (mlp, (6,), ["2", "4"], "5"),
    "sequential": (images, (1, 8, 8), ["0", "1.0"], "3"),
    "residual": (Residual, (1, 8, 8), ["layer1", "layer2.first"], "fc"),
    "over time": (over_time, (2, 16), ["0"], "2"),
}


Case = tuple[nn.Module, Tensor, list[str], str]


@pytest.fixture(params=NETWORKS)
def case(request: pytest.FixtureRequest) -> Case:
    """Return a network with fixed weights, a batch, where its exits stand, and its head."""
    make, shape, at, head = NETWORKS[request.param]
    torch.manual_seed(1)
    return make(), torch.randn(N, *shape), at, head


def train(network: nn.Module, inputs: Tensor, at: list[str], steps: int = 8) -> list[float]:
    """Train with assistance as a user would and return the losses."""
    losses = []
    with Assisted(network, at, inputs) as assisted:
        optimiser = torch.optim.Adam(assisted.parameters(), 0.02)
        for step in range(steps):
            loss = assisted.loss(network(inputs), LABELS, done=step / steps)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
            assisted.transfer()
            losses.append(float(loss.detach()))
    return losses


def hooks_of(network: nn.Module) -> int:
    """Return the number of hooks on a network and its modules."""
    return sum(
        len(getattr(module, hooks))  # PyTorch has no public list of them
        for module in network.modules()
        for hooks in ("_forward_hooks", "_forward_pre_hooks")
    )


def test_exits_fit_the_network_and_reach_the_backbone(case: Case) -> None:
    """Each exit has a loss whose gradient reaches the layers before it, and not those after it."""
    network, inputs, at, head = case
    assisted = Assisted(network, at[:1], inputs)
    assert (assisted.at, assisted.head) == (tuple(at[:1]), head)
    logits = assisted(inputs)
    loss = assisted.loss(logits, LABELS, done=1.0) - functional.cross_entropy(logits, LABELS)
    torch.autograd.backward(loss)
    first = next(iter(network.parameters()))
    assert first.grad is not None
    assert first.grad.abs().max() > 0
    weight = network.get_submodule(head).get_parameter("weight")
    assert weight.grad is None or weight.grad.abs().max() < 1e-6


def test_training_lowers_the_loss_and_leaves_no_hooks(case: Case) -> None:
    """A few steps lower the loss; after them the network is as it was built, but trained."""
    network, inputs, at, _ = case
    names = list(network.state_dict())
    losses = train(network, inputs, at, steps=20)
    assert losses[-1] < 0.8 * losses[2]
    assert hooks_of(network) == 0
    assert list(network.state_dict()) == names


def test_stripping_leaves_outputs_identical(case: Case) -> None:
    """The same input gives the same logits with the exits attached and after `detach`."""
    network, inputs, at, _ = case
    before = network.eval()(inputs)
    assisted = Assisted(network, at, inputs)
    assert hooks_of(network) > 0
    during = network(inputs)
    stripped = assisted.detach()
    assert stripped is network
    assert hooks_of(network) == 0
    assert torch.equal(before, during)
    assert torch.equal(before, network(inputs))


def test_a_seed_gives_the_same_weights(case: Case) -> None:
    """Two trainings under one seed end in the same bits."""
    network, inputs, at, _ = case
    start = {name: values.clone() for name, values in network.state_dict().items()}
    ends = []
    for _ in range(2):
        network.load_state_dict(start)
        torch.manual_seed(7)
        ends.append((train(network, inputs, at), network(inputs).detach()))
    assert ends[0][0] == ends[1][0]
    assert torch.equal(ends[0][1], ends[1][1])


def test_the_example_leaves_modes_and_statistics_alone(case: Case) -> None:
    """Attaching runs the network in evaluation mode and restores the mode of each module."""
    network, inputs, at, _ = case
    network.train()
    first = next(iter(network.children())).eval()
    before = {name: values.clone() for name, values in network.state_dict().items()}
    Assisted(network, at, inputs)
    assert (network.training, first.training) == (True, False)
    assert all(torch.equal(values, before[name]) for name, values in network.state_dict().items())


def test_exits_follow_the_mode_of_the_network() -> None:
    """In training the exits update their batch statistics, in evaluation they do not."""
    network, inputs = mlp(), torch.randn(N, 6)
    assisted = Assisted(network, ["2"], inputs)
    statistics = assisted.exits.get_buffer("0.body.1.running_mean")
    start = statistics.clone()
    network.eval()
    assisted.loss(network(inputs), LABELS, done=1.0)
    assert torch.equal(statistics, start)
    network.train()
    assisted.loss(network(inputs), LABELS, done=1.0)
    assert not torch.equal(statistics, start)


def test_the_ramp() -> None:
    """It grows from a half over the first tenth of training and then stays at 1."""
    assert [ramp(done) for done in (0, 0.05, 0.1, 0.5, 1)] == [0.5, 0.75, 1, 1, 1]
    for done in (-0.01, 1.01, float("nan")):
        with pytest.raises(InputError, match=r"done, .* must lie in 0\.\.1, got"):
            ramp(done)


@pytest.mark.parametrize(("done", "factor"), [(0.0, 0.5), (0.05, 0.75), (1.0, 1.0)])
def test_exits_weigh_as_the_paper_says(done: float, factor: float) -> None:
    """Exit k counts 3 + 0.5 k, times the ramp, beside the final loss."""
    network, inputs = mlp().eval(), torch.randn(N, 6)
    assisted = Assisted(network, ["2", "4"], inputs)
    logits = network(inputs)
    loss = assisted.loss(logits, LABELS, done=done)
    maps = [network[: place + 1](inputs) for place in (2, 4)]  # type: ignore[index]
    heads = [exit_(values) for exit_, values in zip(assisted.exits, maps, strict=True)]
    final, first, second = (functional.cross_entropy(one, LABELS) for one in (logits, *heads))
    torch.testing.assert_close(loss, final + factor * (3.5 * first + 4.0 * second))


def test_own_criterion_weighs_every_loss() -> None:
    """The criterion replaces cross-entropy at the head and at the exits."""
    network, inputs = mlp(), torch.randn(N, 6)
    assisted = Assisted(network, ["2"], inputs)
    loss = assisted.loss(
        network(inputs), LABELS, done=1.0, criterion=lambda logits, _: logits.sum() * 0 + 2
    )
    assert float(loss.detach()) == pytest.approx(2 + 3.5 * 2)


def test_transfer_moves_the_head_towards_the_exits(case: Case) -> None:
    """It moves by the rate towards the mean of their classifiers, and not at all at rate 0."""
    network, inputs, at, head = case
    weight = network.get_submodule(head).get_parameter("weight")
    before = weight.detach().clone()
    Assisted(network, at, inputs, transfer_rate=0).transfer()
    assert torch.equal(weight, before)
    assisted = Assisted(network, at, inputs, transfer_rate=0.25)
    assisted.transfer()
    theirs = [one.get_parameter("classifier.weight") for one in assisted.exits]
    expected = 0.75 * before + 0.25 * torch.stack(theirs).mean(dim=0).view_as(before)
    torch.testing.assert_close(weight.detach(), expected)


def test_a_module_named_twice_has_two_exits() -> None:
    """Both exits stand after it, each with its own weights and loss."""
    network, inputs = mlp(), torch.randn(N, 6)
    assisted = Assisted(network, ["2", "2"], inputs)
    first, second = (one.get_parameter("classifier.weight") for one in assisted.exits)
    assert not torch.equal(first, second)
    assert assisted.loss(network(inputs), LABELS, done=1.0) > 0


class Branching(nn.Module):
    """Runs `twice` two times and `never` not at all; `recurrent` returns a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.twice, self.never = nn.Linear(4, 4), nn.Linear(4, 4)
        self.recurrent = nn.GRU(4, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        sequence, _ = self.recurrent(self.twice(self.twice(values)).unsqueeze(1))
        logits: Tensor = self.head(sequence[:, 0])
        return logits


class Skipping(nn.Module):
    """Skips its `layer` on request."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head, self.skip = nn.Linear(4, 4), nn.Linear(4, 2), False

    def forward(self, values: Tensor) -> Tensor:
        """Return logits."""
        logits: Tensor = self.head(values if self.skip else self.layer(values))
        return logits


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"at": ["twize"]}, r"at must be one of the model's, such as \['twice'.*got 'twize'"),
        ({"at": ["head"], "head": "heat"}, r"head must be .*such as \['head'.*got 'heat'"),
        ({"at": ["twice"]}, "module 'twice' must run once per pass of the network, it ran 2 times"),
        ({"at": ["never"]}, "module 'never' must run once .* it ran 0 times: name another"),
        ({"at": ["recurrent"]}, "module 'recurrent' must return one tensor .* got tuple"),
        ({"at": ["head"], "head": "recurrent"}, "head must be a linear .* got 'recurrent', GRU"),
        ({"at": []}, "at must be a list of at least one module's name, got "),
        ({"at": "head"}, "at must be a list of at least one module's name, got 'head'"),
        ({"at": ["head"], "transfer_rate": 2}, r"transfer_rate must lie in 0\.\.1, got 2"),
        ({"at": ["head"], "weight_0": -3}, "weights must not be negative, got "),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    """The error says what is wrong, and no hook stays on the network."""
    network = Branching()
    with pytest.raises(InputError, match=message):
        Assisted(network, example=SIX, **arguments)
    assert hooks_of(network) == 0


def test_what_cannot_be_assisted_is_refused() -> None:
    """Something that is no module, or has no linear or convolutional layer, is refused."""
    network: Any = len
    with pytest.raises(InputError, match=r"must be a torch\.nn.Module, got builtin_function"):
        Assisted(network, ["0"], SIX)
    with pytest.raises(InputError, match=r"head must be a linear .* name it by head"):
        Assisted(nn.Sequential(nn.ReLU()), ["0"], SIX)


def test_a_module_that_a_later_pass_skips_is_refused() -> None:
    """The number of runs is checked in every pass, not only in the example's."""
    network = Skipping()
    Assisted(network, ["layer"], SIX)
    network.skip = True
    with pytest.raises(InputError, match=r"'layer' must run once .* ran 0 times"):
        network(SIX)


def test_a_loss_without_its_pass_is_refused() -> None:
    """One pass gives one loss, with the labels of its batch; a detached network gives none."""
    network = Skipping()
    assisted = Assisted(network, ["layer"], SIX)
    logits = network(SIX)
    with pytest.raises(InputError, match=r"labels must be of the batch .* 6 samples, got 3"):
        assisted.loss(logits, SIX_LABELS[:3], done=0.0)
    with pytest.raises(InputError, match="loss must follow a pass"):
        assisted.loss(logits, SIX_LABELS, done=0.0)
    assisted.detach()
    with pytest.raises(InputError, match="detached: make a new Assisted"):
        assisted.loss(network(SIX), SIX_LABELS, done=0.0)


def test_examples_may_be_arguments_by_position_or_name() -> None:
    """A tuple is positional arguments, a dictionary named ones."""
    for example in ((SIX,), {"values": SIX}):
        assert len(Assisted(Skipping(), ["layer"], example).exits) == 1


def test_without_torch_the_extra_is_named() -> None:
    """Importing the module without PyTorch names the extra to install."""
    program = (
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *_: None if name == 'torch' else real(name)\n"
        "import tcuq.train"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "tcuq[torch]" in done.stderr.splitlines()[-1]
