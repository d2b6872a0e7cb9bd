# SPDX-License-Identifier: Apache-2.0
"""The identity of a data set: the hash of its files, or of its arrays if a library bundles it."""

from tcuq_benchmark.data import digits
from tcuq_benchmark.data.files import manifest

BUNDLED = {digits.NAME: digits.SHA256}


def data_sha256(name: str) -> str:
    """Return the hash that identifies a data set."""
    return BUNDLED[name] if name in BUNDLED else manifest()[name].sha256
