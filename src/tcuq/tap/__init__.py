# SPDX-License-Identifier: Apache-2.0
"""Taps: run a model over inputs and record a stream of posteriors and features.

Each framework is an extra (`litert`, `onnx`, `executorch`, `torch`, `keras`), imported when a tap
of it is created; scikit-learn comes with the extra `fit`.
"""

from tcuq.tap.input_health import InputHealth
from tcuq.tap.opening import open_tap
from tcuq.tap.recorder import Tap, record
from tcuq.tap.stressing import stress

__all__ = ["InputHealth", "Tap", "open_tap", "record", "stress"]
