# SPDX-License-Identifier: Apache-2.0
"""What the documents' commands find where they are typed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

MODEL = "mlperf-tiny/kws_ref_model.tflite"


@pytest.fixture
def keyword_files() -> Callable[[Path], None]:
    """Puts the keyword network of MLPerf Tiny, and inputs for it, into a folder."""

    def put(folder: Path) -> None:
        model = Path(os.environ.get("TCUQ_DATA", "../shared/data")) / MODEL
        if not model.is_file():
            pytest.fail(f"{model} is missing: TCUQ_DATA must name the folder of the data sets")
        shutil.copy(model, folder / model.name)
        # Like a front end's: words of twenty frames or so, one after another.
        rng = np.random.default_rng(8)
        words = rng.normal(0, 30, (12, 49, 10))
        spoken = np.repeat(rng.integers(0, 12, 150), 20)
        inputs = 60 + words[spoken] + rng.normal(0, 12, (len(spoken), 49, 10))
        codes = np.clip(np.rint(inputs), -128, 127).astype(np.int8)
        np.savez(folder / "keywords.npz", inputs=codes)

    return put
