# SPDX-License-Identifier: Apache-2.0
"""The public API is typed for editors and type checkers."""

import inspect
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import tcuq
from tcuq.calibrate.presets import Options

RIGHT = """
import tcuq

def make(stream: tcuq.Stream) -> tcuq.Profile:
    return tcuq.fit(
        stream, stream, preset="paper", alpha=0.1, budget=0.2, burst=8, score="tcuq",
        signs="monotone", mix=0.7, blend=0.5, lags=[1, 2], terms=[tcuq.TermPlan("novelty")],
        mode="guarded", warmup=3, ledger_step=0.01, alarm=True, steps_per_false_alarm=1 << 14,
        block_factor=2, projection="lda", seed=1, verbose=True,
    )

def decide(path: str, stream: tcuq.Stream) -> list[int]:
    monitor = tcuq.Monitor.load(path)
    decision = monitor.step([0.5, 0.5], None)
    outcome: tcuq.Outcome = decision.outcome
    return [outcome.value, len(monitor.run(stream)), len(monitor.run([[0.5, 0.5]], starts=[0]))]
"""
WRONG = {
    "aplha=0.1": 'Unexpected keyword argument "aplha"',
    'score="best"': 'Argument "score" to "fit" has incompatible type',
    'alpha="0.1"': 'Argument "alpha" to "fit" has incompatible type',
    "block_factor=3": 'Argument "block_factor" to "fit" has incompatible type',
    "terms=[1]": "incompatible type",
}


def complaints(folder: Path, text: str) -> tuple[int, str]:
    """Return mypy's output on a program in strict mode."""
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "program.py"]
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return checked.returncode, checked.stdout


def test_every_option_is_a_typed_keyword() -> None:
    """Each option has a name, a type and a place in the docstring."""
    parameters = inspect.signature(tcuq.fit).parameters
    assert {field.name for field in fields(Options)} < set(parameters)
    for parameter in parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in (tcuq.fit.__doc__ or "")


def test_right_options_check_and_wrong_ones_are_named(tmp_path: Path) -> None:
    """Valid options pass mypy in strict mode; a wrong name or value does not."""
    lines = [f"tcuq.fit(tcuq.Stream([[1.0, 0.0]]), {wrong})" for wrong in WRONG]
    code, output = complaints(tmp_path, RIGHT)
    assert (code, output.strip()) == (0, "Success: no issues found in 1 source file")
    code, output = complaints(tmp_path, "\n".join(["import tcuq", *lines]))
    assert code == 1
    for number, message in enumerate(WRONG.values(), start=2):
        assert any(f":{number}: " in line and message in line for line in output.splitlines())


def test_a_profile_is_short_on_screen(profile: tcuq.Profile) -> None:
    """A profile holds thousands of numbers; its repr is a line."""
    assert len(repr(profile)) <= 600
    assert repr(profile).startswith(f"<Profile {profile.sha256[:8]}: 10 classes, 32 features")
