# SPDX-License-Identifier: Apache-2.0
"""Temporal assistance: exits that are supervised in training and removed before use.

loss = final + ramp · Σ (weight_0 + k · weight_step) · exit_k, k = 1, 2, ..., as in the paper.
"""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from tcuq.errors import InputError
from tcuq.tap.graph import choose
from tcuq.tap.torch import evaluation_mode
from tcuq.train.exits import Exit

if TYPE_CHECKING:
    from torch.utils.hooks import RemovableHandle

RAMP, RAMP_FROM = 0.1, 0.5  # assistance grows over the first tenth of training, from a half
Classifier = nn.Linear | nn.Conv1d | nn.Conv2d


def ramp(done: float) -> float:
    """Return the factor of the exits' losses when the share `done` of the training is over.

    Examples
    --------
    >>> ramp(0.0), ramp(0.05), ramp(0.5)
    (0.5, 0.75, 1.0)
    """
    if not 0 <= done <= 1:
        raise InputError(f"done, the share of training that is over, must lie in 0..1, got {done}")
    return min(1.0, RAMP_FROM + (1 - RAMP_FROM) * done / RAMP)


class Assisted(nn.Module):
    """A network in training with temporal-assistance exits.

    Forward hooks read the values after the named modules; the network itself is not changed. Use
    it in a ``with`` block or call ``detach`` to remove the hooks.

    Parameters
    ----------
    network
        Your classifier; it returns logits, alone or among other outputs.
    at
        Modules after which an exit stands, in order, named as in ``named_modules``. Each returns
        one tensor, (n, width), (n, channels, time) or (n, channels, height, width), and runs once
        per pass. A module that is named twice has two exits.
    example
        A batch of inputs, for the shapes: a tensor, a tuple of arguments, or a dictionary of
        keyword arguments.
    head
        The layer whose output is the logits, for its width and for ``transfer``; if None, the last
        linear or convolutional module to run.
    weight_0, weight_step
        Exit k, counted from 1, has the weight weight_0 + k · weight_step; 3 and 0.5.
    transfer_rate
        See ``transfer``; 0 switches it off.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> network = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.Linear(4, 3))
    >>> inputs, labels = torch.randn(16, 6), torch.arange(16) % 3
    >>> with Assisted(network, at=["1", "2"], example=inputs) as assisted:
    ...     loss = assisted.loss(network(inputs), labels, done=0.0)
    >>> assisted
    Assisted(after 1, 2; head 3)
    """

    def __init__(
        self,
        network: nn.Module,
        at: Sequence[str],
        example: Any,  # noqa: ANN401 - whatever the network takes
        *,
        head: str | None = None,
        weight_0: float = 3.0,
        weight_step: float = 0.5,
        transfer_rate: float = 1e-3,
    ) -> None:
        super().__init__()
        if not isinstance(network, nn.Module):
            raise InputError(f"network must be a torch.nn.Module, got {type(network).__name__}")
        if isinstance(at, str) or not at:
            raise InputError(f"at must be a list of at least one module's name, got {at!r}")
        if not 0 <= transfer_rate <= 1:
            raise InputError(f"transfer_rate must lie in 0..1, got {transfer_rate}")
        self.network = network
        self.weights: list[float] = [weight_0 + k * weight_step for k in range(1, len(at) + 1)]
        if min(self.weights) < 0:
            raise InputError(f"the exits' weights must not be negative, got {self.weights}")
        self.transfer_rate = transfer_rate
        parts = {name: part for name, part in network.named_modules() if name}
        self.at: tuple[str, ...] = tuple(choose(name, list(parts), "at") for name in at)
        self._values: dict[str, list[Tensor]] = {}
        self._handles: list[RemovableHandle] = []
        self._attach(parts)
        try:
            self.head: str = self._run_example(parts, example, head)
            self.exits: nn.ModuleList = nn.ModuleList(self._exit(parts, name) for name in self.at)
        except BaseException:
            self.detach()
            raise
        self._values = {}

    def _attach(self, parts: Mapping[str, nn.Module]) -> None:
        def capture(name: str) -> Callable[..., None]:
            # Without a list the module runs by itself, outside a pass of the network.
            return lambda _module, _args, output: self._values.get(name, []).append(output)

        def begin(*_: object) -> None:
            self._values = {name: [] for name in self.at}

        self._handles = [
            self.network.register_forward_pre_hook(begin),
            *(parts[name].register_forward_hook(capture(name)) for name in dict.fromkeys(self.at)),
            self.network.register_forward_hook(self._check_pass),
        ]

    def _check_pass(self, *_: object) -> None:
        for name, values in self._values.items():
            if len(values) != 1:
                raise InputError(
                    f"module {name!r} must run once per pass of the network, it ran {len(values)}"
                    " times: name another module in at"
                )

    def _run_example(
        self,
        parts: Mapping[str, nn.Module],
        example: Any,  # noqa: ANN401
        head: str | None,
    ) -> str:
        """Run the example and return the head's name."""
        if head is not None:
            choose(head, list(parts), "head")
        ran: list[str] = []
        handles = [
            part.register_forward_hook(lambda *_, name=name: ran.append(name))
            for name, part in parts.items()
            if isinstance(part, Classifier)
        ]
        try:
            with evaluation_mode(self.network), torch.no_grad():
                if isinstance(example, Mapping):
                    self.network(**example)
                else:
                    self.network(*(example if isinstance(example, tuple) else (example,)))
        finally:
            for handle in handles:
                handle.remove()
        last = head if head is not None else ran[-1] if ran else "none"
        layer = parts.get(last)
        if not isinstance(layer, Classifier) or layer.weight[0, 0].numel() != 1:
            raise InputError(
                "head must be a linear layer or a convolution with a kernel of 1, got"
                f" {last!r}, {type(layer).__name__}: name it by head"
            )
        return last

    def _exit(self, parts: Mapping[str, nn.Module], name: str) -> Exit:
        values = self._values[name][0]
        if not isinstance(values, Tensor) or not 2 <= values.dim() <= 4:
            shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise InputError(
                f"module {name!r} must return one tensor of 2 to 4 axes, got {shape}: name another"
                " module in at"
            )
        weight = parts[self.head].get_parameter("weight")
        classes, features = weight.shape[:2]
        fresh = Exit(values.shape[1], features, classes, values.dim() - 2)
        return fresh.to(weight.device, weight.dtype)

    def forward(self, *args: Any, **named: Any) -> Any:  # noqa: ANN401 - as the network
        """Run the network."""
        return self.network(*args, **named)

    def loss(
        self,
        logits: Tensor,
        labels: Tensor,
        *,
        done: float,
        criterion: Callable[[Tensor, Tensor], Tensor] = functional.cross_entropy,
    ) -> Tensor:
        """Return the loss of the batch that the network ran last; call it once per pass.

        Parameters
        ----------
        logits
            The network's own, of this batch.
        labels
            As ``criterion`` takes them.
        done
            Share of the training that is over, 0..1: the exits' losses count half at 0 and in full
            from 0.1 on.
        criterion
            Loss of logits and labels, for the head and for every exit.
        """
        factor = ramp(done)
        if not self._handles:
            raise InputError("the exits are detached: make a new Assisted to train on")
        values, self._values = self._values, {}
        if not values:
            raise InputError("loss must follow a pass: run the network once before each loss")
        batch = len(values[self.at[0]][0])
        if len(labels) != batch:
            raise InputError(
                f"labels must be of the batch that ran last, {batch} samples, got {len(labels)}"
            )
        self.exits.train(self.network.training)
        final = criterion(logits, labels)
        terms = zip(self.weights, self.exits, self.at, strict=True)
        assistance = [w * criterion(exit_(values[at][0]), labels) for w, exit_, at in terms]
        return final + factor * torch.stack(assistance).sum()

    @torch.no_grad()
    def transfer(self) -> None:
        """Move the head by ``transfer_rate`` towards the mean of the exits' classifiers.

        Call it after each step of the optimiser. The paper speaks of a "batch-level callback that
        transfers assistance weights to the final head" and says no more; this is our reading.
        """
        if self.transfer_rate == 0:
            return
        head = self.network.get_submodule(self.head)
        classifiers = [exit_.get_submodule("classifier") for exit_ in self.exits]
        for name, own in head.named_parameters():
            theirs = torch.stack([one.get_parameter(name) for one in classifiers]).mean(dim=0)
            own.lerp_(theirs.view_as(own), self.transfer_rate)

    def detach(self) -> nn.Module:
        """Remove the hooks and return the network; the exits stay here."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._values = [], {}
        return self.network

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"Assisted(after {', '.join(self.at)}; head {self.head})"
