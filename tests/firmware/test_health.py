# SPDX-License-Identifier: Apache-2.0
"""Input health on emulated CPUs: the host's statistics bit for bit, within its instructions."""

from pathlib import Path

import numpy as np
import pytest

import tcuq
from tests.fixtures.firmware.emulator import build_plugin
from tests.fixtures.firmware.health import (
    AUDIO,
    AXES,
    Layout,
    Samples,
    build_health,
    instructions_per_sample,
    statistics_on,
)
from tests.fixtures.firmware.toolchain import CPUS, M4, Cpu

MOST_PER_SAMPLE = 20  # instructions on Cortex-M4


def hard_windows(frames: int, channels: int) -> Samples:
    """Noise, a stuck sensor, full scale alternating, the least bit, and both ends."""
    rng = np.random.default_rng(frames)
    sign = np.where(np.arange(frames) % 2, -1, 1)[:, None] * np.ones(channels, int)
    kinds = [
        rng.integers(-32768, 32768, (frames, channels)),
        rng.normal(1000, 30, (frames, channels)),
        np.full((frames, channels), -32768),
        32767 * sign,
        (sign + 1) // 2,
        np.where(sign > 0, 32767, -32768),
    ]
    return np.stack([np.rint(kind).astype(np.int16) for kind in kinds])


def host_statistics(windows: Samples, layout: Layout) -> Samples:
    """The statistics of tcuq.health, as the device's integers."""
    ends = np.cumsum([channels for channels, _ in layout.groups]).tolist()
    groups = [range(end - size, end) for end, (size, _) in zip(ends, layout.groups, strict=True)]
    (spread,) = {spread for _, spread in layout.groups}
    values = tcuq.health(windows, groups, spread=spread).values
    return np.rint(values * 1024).astype(np.int16)


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
@pytest.mark.parametrize("cpu", CPUS, ids=lambda cpu: cpu.name)
def test_statistics_are_the_hosts(cpu: Cpu, optimise: str, tmp_path: Path) -> None:
    """Every statistic of every window is the same on the CPU and on the host, however added."""
    elf = build_health(cpu, tmp_path, optimise)
    for frames in (1, 2, 128):
        windows = hard_windows(frames, 6)
        for at_once in (1, 7, 64):
            for spread in (False, True):
                layout = Layout(((3, spread), (2, spread), (1, spread)), at_once)
                statistics = statistics_on(cpu, elf, windows, layout)
                np.testing.assert_array_equal(statistics, host_statistics(windows, layout))


def test_longest_window(tmp_path: Path) -> None:
    """65,535 frames of one channel are the host's, by frames and by blocks."""
    elf = build_health(M4, tmp_path)
    windows = hard_windows(65_535, 1)[[0, 5]]
    for at_once in (1, 1000):
        layout = Layout(((1, True),), at_once)
        statistics = statistics_on(M4, elf, windows, layout)
        np.testing.assert_array_equal(statistics, host_statistics(windows, layout))


@pytest.mark.parametrize("optimise", ["-O2", "-Os"])
def test_instructions_per_sample(optimise: str, tmp_path: Path) -> None:
    """A sample takes at most 20 instructions on M4: six axes by frames, audio by blocks."""
    plugin, elf = build_plugin(tmp_path), build_health(M4, tmp_path, optimise)
    six, mono = hard_windows(128, 6), hard_windows(1024, 1)
    cases = [(AXES, six), (AXES, six[2:3]), (AUDIO, mono), (AUDIO, mono[2:3])]
    for layout, windows in cases:  # the second and the last: a stuck sensor is the worst
        taken = instructions_per_sample(M4, elf, plugin, windows, layout)
        assert taken <= MOST_PER_SAMPLE
