# SPDX-License-Identifier: Apache-2.0
"""`tcuq size`: what it says, and whether a part holds the monitor beside a model."""

import json

import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import ExportError
from tcuq.export.footprint import footprint
from tcuq.export.header import number
from tcuq.monitor import Monitor


def test_ram_is_the_engines(profile: tcuq.Profile) -> None:
    """RAM is what the host's engine says a device keeps, each array at a word."""
    storage = Monitor(profile)._engine.storage_bytes  # noqa: SLF001 - the device's own figure
    assert 0 <= footprint(profile).ram - storage <= 6


def test_does_it_fit(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An STM32L432KC beside a model of 180 KB: yes; beside one of 255 KB: no, exit code 1."""
    words = ["size", saved, "--table", "--part", "STM32L432KC"]
    assert main([*words, "--model-flash", "180K", "--model-ram", "40K"]) == 0
    said = capsys.readouterr().out
    assert "\nyes, it fits STM32L432KC: flash 19" in said
    assert main([*words, "--model-flash", "255K"]) == 1
    captured = capsys.readouterr()
    assert "\nno, it does not fit STM32L432KC: flash" in captured.out
    assert captured.err.startswith("tcuq: does not fit STM32L432KC: flash")
    assert main([*words, "--model-ram", "64K"]) == 1


def test_as_json(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure as JSON; telemetry by how often a record is sent."""
    words = ["size", saved, "--table", "--json", "--cpu", "cortex-m0", "--record-minutes", "15"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["flash"] == found["code"] + found["tables"]
    assert found["telemetry_bytes_a_day"] == 96 * number("TCUQ_RECORD_BYTES")
    assert "fits" not in found
    assert main([*words, "--without-telemetry", "--flash", "32K", "--ram", "4K"]) == 0
    less = json.loads(capsys.readouterr().out)
    assert less["fits"]
    assert (less["telemetry_bytes_a_day"], less["ram"] < found["ram"]) == (0, True)


def test_speed_and_interface(profile: tcuq.Profile) -> None:
    """-O2 takes more flash and fewer instructions; the whole interface more than a step's."""
    small, fast = footprint(profile), footprint(profile, optimise="-O2")
    assert small.flash < fast.flash
    assert small.instructions > fast.instructions
    assert footprint(profile, interface="step").flash < small.flash


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--cpu cortex-m5", "cpu must be one of cortex-m0, cortex-m3"),
        ("--part ATmega328", "part must be one of nRF51822"),
        ("--part RP2040 --cpu cortex-m4", "cpu must be cortex-m0, which RP2040 has"),
        ("--flash 10K", "flash and ram must be given together"),
        ("--record-minutes 0", "record-minutes must lie in 1..1440, got 0"),
    ],
)
def test_refusals(words: str, said: str, saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be answered is refused with the rule and the value."""
    assert main(["size", saved, "--table", *words.split()]) == 1
    assert said in capsys.readouterr().err


def test_a_size_that_is_none(saved: str) -> None:
    """A model of `big` is a wrong command line."""
    with pytest.raises(SystemExit, match="2"):
        main(["size", saved, "--model-flash", "big"])
    with pytest.raises(ExportError, match="optimise must be one of -Os, -O2, got '-O7'"):
        footprint(tcuq.Profile.load(saved), optimise="-O7")
