# SPDX-License-Identifier: Apache-2.0
"""Tags are equal if all their bytes are, and where they differ does not show in the work done."""

import ctypes
import os
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import HERE, ROOT, RUNTIME, run

TRUE, FALSE = 0, 1
TAG = bytes(range(1, 13))
SOURCES = Path(os.environ.get("TCUQ_SOURCES", ROOT / "src/tcuq"))  # or a copy with a bug in it


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return both comparisons, each basic block counted."""
    built = tmp_path_factory.mktemp("tags") / "tags.so"
    uplink, ota = SOURCES / "uplink", SOURCES / "ota"
    folders = [f"-I{folder}" for folder in (RUNTIME, uplink, ota)]
    sources = [HERE / "tags.c", uplink / "tcuq_sign.c", ota / "tcuq_verify.c"]
    options = ["-std=gnu99", "-O2", "-shared", "-fPIC", "-fsanitize-coverage=trace-pc"]
    run(["gcc", *options, *folders, *sources, "-o", built])
    return ctypes.CDLL(str(built))


def _changed(tag: bytes, at: int) -> bytes:
    return tag[:at] + bytes([tag[at] ^ 0x10]) + tag[at + 1 :]


def test_an_acknowledgement_is_compared_byte_by_byte(library: ctypes.CDLL) -> None:
    """One wrong byte anywhere is enough, the key's number counts, and the work is the same."""
    ran, work = ctypes.c_uint32(), set()
    ack = bytes(16) + b"\x05"
    assert library.compare_ack(ack + TAG, 5, TAG, ctypes.byref(ran)) == 1
    assert library.compare_ack(ack + TAG, 6, TAG, ctypes.byref(ran)) == 0
    for at in range(len(TAG)):
        assert library.compare_ack(ack + _changed(TAG, at), 5, TAG, ctypes.byref(ran)) == 0
        work.add(ran.value)
    assert len(work) == 1


def test_a_blob_is_compared_byte_by_byte(library: ctypes.CDLL) -> None:
    """As above; and a tag of another length, or by an unknown key, is false."""
    ran, work = ctypes.c_uint32(), set()
    compare = library.compare_blob
    assert compare(TAG, 12, 1, TAG, ctypes.byref(ran)) == TRUE
    assert compare(bytes(12), 12, 2, TAG, ctypes.byref(ran)) == TRUE
    assert compare(TAG, 12, 2, TAG, ctypes.byref(ran)) == FALSE
    assert compare(TAG, 12, 3, TAG, ctypes.byref(ran)) == FALSE
    assert compare(TAG, 8, 1, TAG, ctypes.byref(ran)) == FALSE
    assert compare(TAG + bytes(52), 64, 1, TAG, ctypes.byref(ran)) == FALSE
    for at in range(len(TAG)):
        assert compare(_changed(TAG, at), 12, 1, TAG, ctypes.byref(ran)) == FALSE
        work.add(ran.value)
    assert len(work) == 1
