# SPDX-License-Identifier: Apache-2.0
"""Taps: a model and its inputs to a recorded stream of posteriors and features.

Each engine is an extra (`litert`, `onnx`, `torch`, `keras`, `sklearn`), imported when a tap of it
is made.
"""

from tcuq.tap.opening import open_tap
from tcuq.tap.recorder import Tap, record

__all__ = ["Tap", "open_tap", "record"]
