# SPDX-License-Identifier: Apache-2.0
"""A model with one output: the exported helper gives the bytes that the host gives."""

import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.errors import CalibrationWarning
from tcuq.firmware import export
from tcuq.monitor import Monitor

MAIN = """
#include <stdio.h>
#include "tcuq_device.h"
int main(void)
{
    for (int code = -128; code < 128; code++) {
        uint8_t posterior[2];
        tcuq_device_sigmoid(tcuq_device_posterior_of((int8_t)code), posterior);
        printf("%d %d\\n", (int)posterior[0], (int)posterior[1]);
    }
    return 0;
}
"""
FLAGS = ("-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")


@pytest.fixture(scope="module")
def two_classes(synthetic: Callable[..., tcuq.Stream]) -> tcuq.Profile:
    """A profile of two classes without features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        return tcuq.fit(synthetic(classes=2, width=0))


@pytest.mark.parametrize("compiler", [("gcc", "-std=c99"), ("g++", "-xc++")])
def test_every_byte_of_a_sigmoid(
    compiler: tuple[str, str], two_classes: tcuq.Profile, tmp_path: Path
) -> None:
    """All 256 outputs become round(256 · (1 - p)) and round(256 · p), at most 255."""
    export(two_classes, tmp_path, "c")
    (tmp_path / "sigmoid.c").write_text(MAIN)
    program = tmp_path / "sigmoid"
    command = [*compiler, *FLAGS, "-Isrc", "sigmoid.c", "-o", str(program)]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = np.array([line.split() for line in text.splitlines()], int)
    p = np.arange(256) / 256
    expected = np.minimum(np.rint(256 * np.stack([1 - p, p], axis=1)), 255)
    np.testing.assert_array_equal(rows, expected)
    monitor = Monitor(two_classes)
    for posteriors in (p, p[:, None], np.stack([1 - p, p], axis=1)):
        np.testing.assert_array_equal(monitor.quantize(posteriors)[0], expected)
    for codes in (np.arange(256, dtype=np.uint8), np.arange(256, dtype=np.uint8)[:, None]):
        np.testing.assert_array_equal(monitor.quantize(codes)[0], expected)


def test_helper_is_only_for_two_classes(profile: tcuq.Profile, tmp_path: Path) -> None:
    """With seven classes a call to it does not compile."""
    export(profile, tmp_path, "c")
    (tmp_path / "sigmoid.c").write_text(MAIN)
    command = ["gcc", "-std=c99", "-Werror", "-Isrc", "-fsyntax-only", "sigmoid.c"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "tcuq_device_sigmoid" in refused.stderr
