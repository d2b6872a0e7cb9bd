# SPDX-License-Identifier: Apache-2.0
"""The page on models without classes runs as it stands."""

import warnings
from typing import Any

import tcuq
from tests.fixtures.pages import blocks

PAGE = "docs/howto/outputs.md"


def test_the_page_runs() -> None:
    """Its Python blocks, in order: a regressor, a promise, an anomaly score."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tcuq.errors.CalibrationWarning)
        for block in blocks(PAGE, "python"):
            exec(block, names)  # noqa: S102 - our own page
    assert (names["calibration"].kind, names["scores"].kind) == ("outputs", "outputs")
    assert names["promised"].promise.accepted_error == 0.05
