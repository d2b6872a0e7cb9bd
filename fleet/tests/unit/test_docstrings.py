# SPDX-License-Identifier: Apache-2.0
"""Examples of the fleet's modules."""

import tcuq_fleet
from tests.fixtures.docstrings import failed_examples


def test_examples_in_docstrings_run() -> None:
    """Every example of every module gives what it shows."""
    assert failed_examples(tcuq_fleet) == {}
