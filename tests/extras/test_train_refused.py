# SPDX-License-Identifier: Apache-2.0
"""Refused uses of temporal assistance: each error names the thing, the rule and the value."""

import subprocess
import sys
from typing import Any

import pytest

from tcuq.errors import InputError

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402

from tcuq.train import Assisted  # noqa: E402

INPUTS, LABELS = torch.randn(6, 4), torch.arange(6) % 2


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
        Assisted(network, example=INPUTS, **arguments)
    for module in network.modules():
        assert not getattr(module, "_forward_hooks")  # noqa: B009 - no public list of them


def test_other_objects_are_no_network() -> None:
    """Something that is no module is refused by its type."""
    network: Any = len
    with pytest.raises(InputError, match=r"must be a torch\.nn.Module, got builtin_function"):
        Assisted(network, ["0"], INPUTS)


def test_a_network_without_a_head_is_refused() -> None:
    """Without a linear or convolutional layer there is nothing to assist."""
    with pytest.raises(InputError, match=r"head must be a linear .* name it by head"):
        Assisted(nn.Sequential(nn.ReLU()), ["0"], INPUTS)


def test_a_module_that_a_later_pass_skips_is_refused() -> None:
    """The number of runs is checked in every pass, not only in the example's."""
    network = Skipping()
    Assisted(network, ["layer"], INPUTS)
    network.skip = True
    with pytest.raises(InputError, match=r"'layer' must run once .* ran 0 times"):
        network(INPUTS)


def test_a_loss_without_its_pass_is_refused() -> None:
    """One pass gives one loss, with the labels of its batch; a detached network gives none."""
    network = Skipping()
    assisted = Assisted(network, ["layer"], INPUTS)
    logits = network(INPUTS)
    with pytest.raises(InputError, match=r"labels must be of the batch .* 6 samples, got 3"):
        assisted.loss(logits, LABELS[:3], done=0.0)
    with pytest.raises(InputError, match="loss must follow a pass"):
        assisted.loss(logits, LABELS, done=0.0)
    assisted.detach()
    with pytest.raises(InputError, match="detached: make a new Assisted"):
        assisted.loss(network(INPUTS), LABELS, done=0.0)


def test_examples_may_be_arguments_by_position_or_name() -> None:
    """A tuple is positional arguments, a dictionary named ones."""
    for example in ((INPUTS,), {"values": INPUTS}):
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
