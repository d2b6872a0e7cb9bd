# SPDX-License-Identifier: Apache-2.0
"""Ten models of seven kinds: recorded, fitted, reported, exported and run on the Cortex-M4."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.fixtures.any_models import CASES, Case, walk
from tests.fixtures.effort import every


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:FutureWarning")
@pytest.mark.parametrize("case", every(2, CASES), ids=lambda case: case.name)
def test_a_model_goes_all_the_way(
    case: Case, tmp_path: Path, runtime_of_m4: Sequence[Path]
) -> None:
    """Its decisions are the host's; untold, it is recognised or its kind is asked for."""
    result = walk(case, tmp_path, runtime_of_m4)
    assert result.what == case.what
    assert result.untold == ("" if case.options else result.kind)
    assert result.reported
    assert result.equal == result.steps
