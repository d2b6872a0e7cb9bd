# SPDX-License-Identifier: Apache-2.0
"""Train: the paper's temporal assistance for a PyTorch network. Needs the extra `torch`.

Keras models are not supported: the exits are attached by hooks, which only PyTorch has.
"""

from importlib.util import find_spec

from tcuq.errors import MissingExtraError

if find_spec("torch") is None:
    raise MissingExtraError("torch", "tcuq[torch]")

from tcuq.train.assisted import Assisted, ramp
from tcuq.train.exits import Exit

__all__ = ["Assisted", "Exit", "ramp"]
