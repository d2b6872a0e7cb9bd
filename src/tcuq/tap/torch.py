# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a module as an object, never a file, tapped by a forward hook."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._conversion import as_array, as_numbers
from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.feeding import one_array, refused_by
from tcuq.tap.graph import chosen

Array = NDArray[Any]
BATCH = 64
HEADS = ("Linear", "LazyLinear", "Bilinear", "Conv1d", "Conv2d", "Conv3d")


class TorchTap:
    """A `torch.nn.Module`, a Hugging Face model among them.

    Parameters
    ----------
    module
        The model; it is run in evaluation mode, without gradients, and left as it was.
    layer
        The submodule whose output the features are (the first member, if it returns several), as
        in ``named_modules``; if None, the input of the last linear or convolutional submodule to
        run.
    output
        Which member of the output holds the posteriors, where it is a tuple or a mapping; if None,
        its ``logits``, if it has such.
    kind
        "probabilities" or "logits": a module does not say, unless its output has ``logits``.
    batch
        Steps it is given at once.
    """

    labels = None

    def __init__(
        self,
        module: Any,  # noqa: ANN401 - torch is not imported for its name
        layer: str | None = None,
        *,
        output: str | int | None = None,
        kind: Kind | None = None,
        batch: int = BATCH,
    ) -> None:
        self._torch = import_extra("torch", "torch")
        if not isinstance(module, self._torch.nn.Module):
            raise InputError(f"module must be a torch.nn.Module, got {type(module).__name__}")
        if batch < 1:
            raise InputError(f"batch must be at least 1, got {batch}")
        self._module = module
        self._parts = {name: part for name, part in module.named_modules() if name}
        self._named = layer is not None
        self.layer = None if layer is None else chosen(layer, list(self._parts), "layer")
        self.output = output
        self.kind = kind
        self.batch = batch

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - array or dictionary
        """Posteriors and the layer of a batch; named inputs are keyword arguments."""
        caught: list[tuple[str, Any]] = []
        with ExitStack() as hooks, self._quiet(), refused_by("the module"):
            for handle in self._hooked(caught):
                hooks.callback(handle.remove)
            if isinstance(inputs, Mapping):
                named = {n: self._tensor(as_numbers(v, n, "fiub")) for n, v in inputs.items()}
                posteriors = self._member(self._module(**named))
            else:
                posteriors = self._member(self._module(self._tensor(one_array(inputs))))
        if not caught:
            reason = f"{self.layer!r} did not run" if self._named else "no layer with weights ran"
            raise InputError(f"layer: {reason}; name one of {', '.join(self._parts)[:200]}")
        self.layer, layer = caught[-1]
        return self._array(posteriors, "output"), self._array(layer, f"layer {self.layer!r}")

    def _hooked(self, caught: list[tuple[str, Any]]) -> Iterator[Any]:
        if self._named and self.layer is not None:
            name = self.layer
            yield self._parts[name].register_forward_hook(
                lambda _module, _given, made: caught.append((name, self._first(made)))
            )
            return
        for name, part in self._parts.items():
            if type(part).__name__ in HEADS:
                yield part.register_forward_pre_hook(
                    lambda _module, given, named, name=name: caught.append(
                        (f"input of {name}", next(iter([*given, *named.values()])))
                    ),
                    with_kwargs=True,
                )

    @staticmethod
    def _first(made: Any) -> Any:  # noqa: ANN401 - whatever a submodule returns
        members = list(made.values()) if isinstance(made, Mapping) else made
        return members[0] if isinstance(members, list | tuple) and members else made

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        modes = {part: part.training for part in self._module.modules()}
        self._module.eval()
        try:
            with self._torch.inference_mode():
                yield
        finally:
            for part, training in modes.items():
                part.training = training

    def _tensor(self, inputs: Array) -> Any:  # noqa: ANN401 - a tensor
        tensor = self._torch.as_tensor(np.ascontiguousarray(inputs))
        weights = next(iter(self._module.parameters()), None)
        if weights is None:
            return tensor
        real = tensor.is_floating_point() and weights.is_floating_point()
        return tensor.to(weights.device, weights.dtype if real else tensor.dtype)

    def _member(self, made: Any) -> Any:  # noqa: ANN401 - whatever the module returns
        if self.output is None:
            logits = made.get("logits") if isinstance(made, Mapping) else None
            logits = getattr(made, "logits", logits)
            return made if logits is None else self._logits(logits)
        try:
            return made[self.output]
        except (KeyError, IndexError, TypeError):
            raise InputError(
                f"output {self.output!r} is no member of the module's {type(made).__name__}"
            ) from None

    def _logits(self, logits: Any) -> Any:  # noqa: ANN401 - a tensor
        if self.kind == "probabilities":
            raise InputError("kind must be 'logits', as the output's member, got 'probabilities'")
        if logits.shape[-1] == 1 and hasattr(self._module, "config"):  # as Hugging Face reads it
            raise InputError("the model must be a classifier, got a regression: num_labels is 1")
        self.kind = "logits"
        return logits

    def _array(self, tensor: Any, name: str) -> Array:  # noqa: ANN401 - a tensor, if all is well
        if not isinstance(tensor, self._torch.Tensor):
            raise InputError(
                f"{name} must be a tensor, got {type(tensor).__name__} (name its member by output)"
            )
        return as_array(tensor, name)
