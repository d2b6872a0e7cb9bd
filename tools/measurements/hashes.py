# SPDX-License-Identifier: Apache-2.0
"""One profile, one hash: the demo's fit under other linear algebra, thread counts and NumPys."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from results.result import ROOT, Row, measure

CORE_TYPES = ("Nehalem", "Haswell", "SkylakeX")  # kernels that OpenBLAS chooses from
THREADS = ("1", "2")
# The lowest versions that pyproject.toml allows and that have wheels for this Python, and today's.
LIBRARIES = (("numpy==1.26.0", "scikit-learn==1.5.0", "scipy==1.11.4"), ("numpy", "scikit-learn"))
FIT = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy, tcuq
from tcuq.demo import demo_stream
streams = demo_stream("calibration"), demo_stream("development")
hashes = [tcuq.fit(streams[0]), tcuq.fit(*streams), tcuq.fit(*streams, preset="paper")]
print(numpy.__version__, *(profile.sha256 for profile in hashes))
"""


def fitted(python: str, core_type: str, threads: str) -> list[str]:
    """Fit in a process of its own; return NumPy's version and the hashes of three fits."""
    chosen = {"OPENBLAS_CORETYPE": core_type, "OPENBLAS_NUM_THREADS": threads}
    process = subprocess.run(
        [python, "-c", FIT],
        env={**os.environ, **chosen, "OMP_NUM_THREADS": threads},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.split()


def environments(folder: Path, *, short: bool) -> Iterator[str]:
    """Yield Pythons: this one, and in the long form some with other libraries."""
    yield sys.executable
    for number, libraries in enumerate(() if short else LIBRARIES):
        place = folder / str(number)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        python = str(place / "bin/python")
        install = [python, "-m", "pip", "install", "--quiet", f"{ROOT}[fit]", *libraries]
        subprocess.run(install, check=True)
        yield python


def rows(short: bool) -> Iterator[Row]:
    """Yield how many hashes the same fits have."""
    with tempfile.TemporaryDirectory() as folder:
        sums = [
            fitted(python, core_type, threads)
            for python in environments(Path(folder), short=short)
            for core_type in CORE_TYPES
            for threads in THREADS
        ]
    versions = sorted({numpy for numpy, *_ in sums})
    distinct = {tuple(hashes) for _, *hashes in sums}
    yield Row(
        "hashes of the demo's three fits",
        "one, with 3 core types, 1 and 2 threads" + ("" if short else ", 2 NumPy versions"),
        f"{len(distinct)} in {len(sums)} runs, NumPy {', '.join(versions)}",
        len(distinct) == 1 and (short or len(versions) >= 2),
    )


if __name__ == "__main__":
    measure("hashes", rows, ("scikit-learn",))
