# SPDX-License-Identifier: Apache-2.0
"""`tcuq size`: its figures, their sources, and whether a part holds the monitor beside a model."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import ExportError
from tcuq.firmware.footprint import NOTE, footprint, nearest_instructions
from tcuq.firmware.header import number, size_of
from tcuq.monitor import Monitor

Command = Callable[..., str]
PAGE = Path(__file__).parents[2] / "docs/howto/size.md"


def test_ram_is_the_engines_and_flash_follows_options(profile: tcuq.Profile) -> None:
    """RAM is the engine's storage and the monitor; -O2 takes more flash and fewer instructions."""
    storage = Monitor(profile)._engine.storage_bytes  # noqa: SLF001 - the device's own figure
    assert 0 <= footprint(profile).ram - storage - size_of("tcuq_monitor")[0] <= 6
    small, fast = footprint(profile), footprint(profile, optimise="-O2")
    assert small.flash < fast.flash
    fewer = nearest_instructions(profile, optimise="-O2")
    assert fewer.mean < nearest_instructions(profile).mean
    assert footprint(profile, interface="step").flash < small.flash


def test_does_it_fit(saved: str, output_of: Command, capsys: pytest.CaptureFixture[str]) -> None:
    """An STM32L432KC beside a model of 180 KB: yes; beside one of 255 KB: no, exit code 1."""
    words = ["size", saved, "--table", "--part", "STM32L432KC"]
    beside = output_of(*words, "--model-flash", "180K", "--model-ram", "40K")
    assert "\nyes, it fits STM32L432KC: flash 19" in beside
    assert main([*words, "--model-flash", "255K"]) == 1
    captured = capsys.readouterr()
    assert "\nno, it does not fit STM32L432KC: flash" in captured.out
    assert captured.err.startswith("tcuq: does not fit STM32L432KC: flash")
    assert main([*words, "--model-ram", "64K"]) == 1


def test_as_json(saved: str, output_of: Command) -> None:
    """Every figure is in the JSON; telemetry depends on how often a record is sent."""
    words = ["size", saved, "--table", "--json", "--cpu", "cortex-m0", "--record-minutes", "15"]
    facts = json.loads(output_of(*words))
    assert facts["flash"] == facts["code"] + facts["tables"]
    assert facts["telemetry_bytes_per_day"] == 96 * number("TCUQ_RECORD_BYTES")
    assert facts["instructions"]["note"] == NOTE
    assert "fits" not in facts
    less = json.loads(output_of(*words, "--without-telemetry", "--flash", "32K", "--ram", "4K"))
    assert less["fits"]
    assert (less["telemetry_bytes_per_day"], less["ram"] < facts["ram"]) == (0, True)


def test_every_figure_names_its_source(saved: str, output_of: Command) -> None:
    """The text says what was measured, the standard profile and its flags; the page shows it."""
    text = output_of("size", saved, "--table")
    assert PAGE.read_text("utf-8").partition("```text\n")[2].partition("```")[0] == text
    assert "flash from the measured table, error on 10 random profiles < 0.5%" in text
    assert NOTE in text
    assert "recommended preset on the demo streams" in text
    assert "10 classes, 32 features, 1 lag, 7 score terms" in text
    assert "-mcpu=cortex-m4 -mthumb -mfloat-abi=soft -Os" in text


def test_nearest_standard_profile(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """The same parts count first, then classes, features, lags and score terms."""
    assert nearest_instructions(profile).profile == "recommended preset on the demo streams"
    bare = nearest_instructions(profile, telemetry=False)
    assert bare.parts == ("classes", "anchored", "novelty", "health", "alarm", "telemetry")
    paper = tcuq.fit(
        test_stream, test_stream, preset="paper", paper=tcuq.PaperOptions(signs="monotone")
    )
    nearest = nearest_instructions(paper, telemetry=False)
    assert (nearest.profile, nearest.parts) == ("paper preset on the demo streams", ("classes",))
    assert nearest.mean <= nearest.worst


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--cpu cortex-m5", "cpu must be one of cortex-m0, cortex-m3"),
        ("--part ATmega328", "part must be one of nRF51822"),
        ("--part RP2040 --cpu cortex-m4", "cpu must be cortex-m0, which RP2040 has"),
        ("--flash 10K", "flash and ram must be given together"),
        ("--record-minutes 0", "record-minutes must lie in 1..1440, got 0"),
    ],
)
def test_refusals(words: str, message: str, saved: str, refusal: Command) -> None:
    """A question without an answer is refused with the rule and the value."""
    assert message in refusal("size", saved, "--table", *words.split())


def test_a_wrong_size_is_refused(saved: str) -> None:
    """A model size of `big`, an unknown optimisation and an unknown interface are errors."""
    with pytest.raises(SystemExit, match="2"):
        main(["size", saved, "--model-flash", "big"])
    profile = tcuq.Profile.load(saved)
    with pytest.raises(ExportError, match="optimise must be one of -Os, -O2, got '-O7'"):
        footprint(profile, optimise="-O7")
    with pytest.raises(ExportError, match="interface must be step or whole, got 'half'"):
        footprint(profile, interface="half")  # type: ignore[arg-type]
