# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch: a `.pte` file, whose outputs are the posteriors and, if exported so, the features."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._extras import import_extra
from tcuq.errors import InputError
from tcuq.stream import Kind
from tcuq.tap.feeding import input_errors_of, one_array, read_model, to_dtype, to_shape
from tcuq.tap.graph import choose

Array = NDArray[Any]
METHOD = "forward"
TYPES = {0: "u1", 1: "i1", 3: "i4", 4: "i8", 6: "f4", 7: "f8"}  # ExecuTorch's scalar types


class ExecutorchTap:
    """A `.pte` program with one input.

    Parameters
    ----------
    path
        The program's file.
    layer
        The number of the output that becomes features; None: the other one of two outputs. A
        program holds no layers: return the features from ``forward`` before you export it.
    output
        The number of the output that holds the posteriors, by default "0".
    kind
        "probabilities", "logits" or "outputs": a program does not tell.
    """

    labels = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        layer: str | None = None,
        *,
        output: str | None = None,
        kind: Kind | None = None,
    ) -> None:
        runtime = import_extra("executorch.runtime", "executorch")
        self._torch = import_extra("torch", "executorch")
        try:
            self._program = runtime.Runtime.get().load_program(read_model(path))
            self._method = self._program.load_method(METHOD)
        except RuntimeError as error:
            raise InputError(f"{path}: not a program that ExecuTorch can run: {error}") from error
        metadata = self._method.metadata
        if metadata.num_inputs() != 1:
            raise InputError(
                f"{path}: the program must have one input, got {metadata.num_inputs()}"
            )
        self._input = metadata.input_tensor_meta(0)
        if self._input.dtype() not in TYPES or not self._input.sizes():
            raise InputError(f"{path}: the input must be an array of numbers, got {self._input}")
        outputs = [str(number) for number in range(metadata.num_outputs())]
        self.output: str = choose(output or "0", outputs, "output")
        others = [number for number in outputs if number != self.output]
        self.layer: str | None = others[0] if layer is None and len(others) == 1 else layer
        if self.layer is not None:
            choose(self.layer, outputs, "layer")
        self.kind = kind
        self.batch: int = self._input.sizes()[0]

    def run(self, inputs: Any) -> tuple[Array, Array | None]:  # noqa: ANN401 - an array
        """Return the posteriors and the features of a batch; a short one is filled up."""
        feed = to_dtype(one_array(inputs), TYPES[self._input.dtype()])
        feed = to_shape(feed, self._input.sizes()[1:])
        steps = len(feed)
        feed = np.concatenate([feed, feed[-1:].repeat(self.batch - steps, axis=0)])
        with input_errors_of("ExecuTorch"):
            outputs = self._method.execute([self._torch.from_numpy(np.ascontiguousarray(feed))])
        posteriors = outputs[int(self.output)].numpy()[:steps].copy()
        if self.layer is None:
            return posteriors, None
        return posteriors, outputs[int(self.layer)].numpy()[:steps].copy()
