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
from tcuq.tap.feeding import input_errors_of, one_array
from tcuq.tap.graph import choose

Array = NDArray[Any]
BATCH = 64
HEADS = ("Linear", "LazyLinear", "Bilinear", "Conv1d", "Conv2d", "Conv3d")


class TorchTap:
    """A `torch.nn.Module`, including Hugging Face models.

    Parameters
    ----------
    module
        The model; it is run in evaluation mode, without gradients, and then restored.
    layer
        The submodule whose output becomes features (the first member, if it returns several), as
        in ``named_modules``; if None, the input of the last linear or convolutional submodule to
        run.
    output
        Which member of the output holds the posteriors, if it is a tuple or a mapping; None:
        its ``logits``, if any.
    kind
        "probabilities", "logits" or "outputs": a module does not tell, unless its output has
        ``logits``.
    batch
        Steps per batch.
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
        self.layer = None if layer is None else choose(layer, list(self._parts), "layer")
        self.output = output
        self.kind = kind
        self.batch = batch

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - array or dictionary
        """Return the posteriors and the layer of a batch; named inputs are keyword arguments."""
        captured: list[tuple[str, Any]] = []
        with ExitStack() as hooks, evaluation_mode(self._module), input_errors_of("the module"):
            hooks.enter_context(self._torch.inference_mode())
            for handle in self._hooks(captured):
                hooks.callback(handle.remove)
            if isinstance(inputs, Mapping):
                named = {n: self._tensor(as_numbers(v, n, "fiub")) for n, v in inputs.items()}
                posteriors = self._member(self._module(**named))
            else:
                posteriors = self._member(self._module(self._tensor(one_array(inputs))))
        if not captured:
            reason = f"{self.layer!r} did not run" if self._named else "no layer with weights ran"
            raise InputError(f"layer: {reason}; name one of {', '.join(self._parts)[:200]}")
        self.layer, layer = captured[-1]
        return self._array(posteriors, "output"), self._array(layer, f"layer {self.layer!r}")

    def _hooks(self, captured: list[tuple[str, Any]]) -> Iterator[Any]:
        if self._named and self.layer is not None:
            name = self.layer
            yield self._parts[name].register_forward_hook(
                lambda _module, _args, output: captured.append((name, self._first(output)))
            )
            return
        for name, part in self._module.named_modules():
            if type(part).__name__ in HEADS:
                yield part.register_forward_pre_hook(
                    lambda _module, args, named, name=name: captured.append(
                        (f"input of {name or 'the module'}", next(iter([*args, *named.values()])))
                    ),
                    with_kwargs=True,
                )

    @staticmethod
    def _first(output: Any) -> Any:  # noqa: ANN401 - whatever a submodule returns
        members = list(output.values()) if isinstance(output, Mapping) else output
        return members[0] if isinstance(members, list | tuple) and members else output

    def _tensor(self, inputs: Array) -> Any:  # noqa: ANN401 - a tensor
        tensor = self._torch.as_tensor(np.ascontiguousarray(inputs))
        weights = next(iter(self._module.parameters()), None)
        if weights is None:
            return tensor
        floats = tensor.is_floating_point() and weights.is_floating_point()
        return tensor.to(weights.device, weights.dtype if floats else tensor.dtype)

    def _member(self, output: Any) -> Any:  # noqa: ANN401 - whatever the module returns
        if self.output is None:
            logits = output.get("logits") if isinstance(output, Mapping) else None
            logits = getattr(output, "logits", logits)
            return output if logits is None else self._logits(logits)
        try:
            return output[self.output]
        except (KeyError, IndexError, TypeError):
            raise InputError(
                f"output {self.output!r} is no member of the module's {type(output).__name__}"
            ) from None

    def _logits(self, logits: Any) -> Any:  # noqa: ANN401 - a tensor
        if self.kind == "probabilities":
            raise InputError("kind must be 'logits', as the output's member, got 'probabilities'")
        if self.kind == "outputs":
            return logits
        task = getattr(getattr(self._module, "config", None), "problem_type", "")
        if task == "regression" or (task != "" and logits.shape[-1] == 1):  # as in Hugging Face
            raise InputError(
                "the model is a regression, by its problem_type or a num_labels of 1: say"
                ' kind="outputs"'
            )
        self.kind = "logits"
        return logits

    def _array(self, tensor: Any, name: str) -> Array:  # noqa: ANN401 - a tensor, if valid
        if not isinstance(tensor, self._torch.Tensor):
            raise InputError(
                f"{name} must be a tensor, got {type(tensor).__name__} (name its member by output)"
            )
        return as_array(tensor, name)


@contextmanager
def evaluation_mode(module: Any) -> Iterator[None]:  # noqa: ANN401 - a torch.nn.Module
    """Put a module in evaluation mode for a while; restore the mode of each of its parts."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training
