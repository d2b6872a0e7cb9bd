# SPDX-License-Identifier: Apache-2.0
"""Commands end in one line where something is wrong: no traceback, no hang, no late refusal."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import ProfileError
from tcuq.evaluation import evaluate
from tcuq.progress import Progress

BOX = Path(tcuq.__file__).parent / "data/keywords"
CALIBRATION, TEST = str(BOX / "calibration.npz"), str(BOX / "test.npz")
RAW = ("\ud800\x1b[2J", "\x1b[2J", "\ud800", "\x9b2J", "a\nb", "a\n", "\0")

Refusal = Callable[..., str]


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Refusal:
    """Run a command that must end with 1; return its one line."""

    def run(*arguments: object) -> str:
        assert main([str(argument) for argument in arguments]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("tcuq: ")
        assert captured.err.count("\n") == 1
        return captured.err.removeprefix("tcuq: ")

    return run


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Change to an empty folder and make any fit or run fail."""

    def work(*_: object, **__: object) -> None:
        pytest.fail("the work began before the output was refused")

    monkeypatch.setattr("tcuq.calibrate.fit", work)
    monkeypatch.setattr(tcuq.Monitor, "run", work)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_refuses_a_stream_of_the_other_kind(
    tmp_path: Path, saved: str, test_stream: tcuq.Stream, refusal: Refusal
) -> None:
    """Logits given to a profile of probabilities are refused, never read as probabilities."""
    columns = test_stream.posteriors, test_stream.features, test_stream.labels
    stream = tcuq.Stream(*columns, kind="logits", starts=test_stream.starts)
    stream.save(tmp_path / "s.npz")
    assert "kind" in refusal("run", saved, tmp_path / "s.npz")


def test_many_members_one_of_them_repeated_do_not_hang() -> None:
    """A repeated member is found in linear time."""
    text = "{" + ",".join(f'"{number}":0' for number in range(20_000)) + ',"19999":0}'
    began = time.monotonic()
    with pytest.raises(ProfileError, match="'19999' is repeated"):
        tcuq.Profile.from_json(text)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    ("command", "output"),
    [
        *(("fit", output) for output in (".", "", "/", "none/p.json", "p.yaml", "p")),
        *(("run", output) for output in (".", "", "/", "none/t.npz", "t.csv", "t")),
    ],
)
def test_output_that_cannot_be_written_is_refused_before_the_work(
    idle: Path, saved: str, refusal: Refusal, command: str, output: str
) -> None:
    """No file name, no such folder or the wrong ending is one line that names the path, at once."""
    given = {"fit": [CALIBRATION], "run": [saved, TEST]}[command]
    message = refusal(command, *given, "-o", output)
    assert output in message
    assert ".part" not in message
    assert list(idle.iterdir()) == []


def test_negative_seed_of_evaluate_is_no_traceback(saved: str, refusal: Refusal) -> None:
    """An invalid seed is one line that names it."""
    assert "seed" in refusal("evaluate", saved, TEST, "--seed", "-1")


@pytest.mark.parametrize(
    "damage", [(p, t) for p in ("library", "findings") for t in RAW], ids=ascii
)
def test_text_in_a_profile_does_not_reach_the_terminal_raw(
    tmp_path: Path,
    profile: tcuq.Profile,
    altered: Callable[..., dict[str, Any]],
    refusal: Refusal,
    damage: tuple[str, str],
) -> None:
    """Provenance with control characters or lone surrogates is refused without repeating them."""
    place, text = damage
    given = [{"name": "odd", "sentence": text}] if place == "findings" else text
    document = altered(profile, f"provenance.{place}", given)
    (tmp_path / "p.json").write_text(json.dumps(document))
    with pytest.raises(ProfileError, match=f"provenance.{place}"):
        tcuq.Profile.load(tmp_path / "p.json")
    assert refusal("inspect", tmp_path / "p.json").rstrip("\n").isprintable()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("command", ["inspect", "run"])
def test_closed_pipe_ends_quietly(saved: str, command: str, unbuffered: str) -> None:
    """A closed pipe, buffered or not, gives no error."""
    given = {"inspect": [saved], "run": [saved, TEST]}[command]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result = subprocess.run(
            [sys.executable, "-m", "tcuq.cli", command, *given],
            stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    finally:
        os.close(writing)
    assert (result.returncode, result.stderr) == (0, "")


def test_nothing_done_yet_is_no_division_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress of no item at no time is drawn like any other."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    with Progress("steps", total=2, patience_s=0) as progress:
        progress.advance(0)
    assert "steps: 0 of 2" in screen.getvalue()


def test_unknown_measure_is_a_key_error(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """A measure's name that is not there is an error of the caller, not the end of an iterator."""
    evaluation = evaluate(profile, test_stream, rounds=0)
    with pytest.raises(KeyError, match="nothing"):
        evaluation["nothing"]


def test_null_byte_in_a_path_is_a_profile_error() -> None:
    """An impossible path is refused like a missing one, in one line."""
    with pytest.raises(ProfileError) as caught:
        tcuq.Profile.load("a\0b")
    assert str(caught.value).isprintable()


def test_tcuq_alone_named_a_missing_argument(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command it prints the commands."""
    with pytest.raises(SystemExit, match="0"):
        main([])
    assert "calibrate a profile from recorded streams" in capsys.readouterr().out
