# SPDX-License-Identifier: Apache-2.0
"""Commands end in one line where something is wrong: no traceback, no hang, no late refusal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tcuq
from tcuq.cli import main
from tcuq.errors import ProfileError

BOX = Path(tcuq.__file__).parent / "data/keywords"
CALIBRATION, TEST = str(BOX / "calibration.npz"), str(BOX / "test.npz")
# A job started in the background ignores Ctrl-C, and so would its children.
READY = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tcuq.cli import main; print('ready', flush=True); "
)
HIDING = "import sys; [sys.modules.update({{n: None}}) for n in {}]; from tcuq.cli import main; "
RUN = "sys.exit(main(sys.argv[1:]))"
RAW = ("\ud800\x1b[2J", "\x1b[2J", "\ud800", "\x9b2J", "a\nb", "a\n", "\0")
Refusal = Callable[..., str]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to a folder that holds a stream of two classes."""
    monkeypatch.chdir(tmp_path)
    tcuq.Stream([[0.5, 0.5]] * 9).save("narrow.npz")
    return tmp_path


def test_bad_usage_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    """An invalid command line prints the usage."""
    for arguments in (
        ["guess"],
        ["fit", CALIBRATION],
        ["fit", CALIBRATION, "-o", "p.json", "--preset", "mine"],
        ["fit", CALIBRATION, "-o", "p.json", "--alpha", "x"],
        ["fit", CALIBRATION, "-o", "p.json", "--lags", "1,x"],
        ["run", "p.json"],
        ["evaluate", "p.json", TEST, "--rounds", "many"],
    ):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert capsys.readouterr().err.startswith("usage: tcuq")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "--lags"],
        ["tune", "--ram"],
        ["record", "--health-groups"],
        ["export", "--feature-codes"],
        ["export", "--device"],
        ["export", "--product"],
    ],
)
def test_an_argument_is_refused_by_its_rule(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused argument names its option, the rule and the value, and no function of ours."""
    with pytest.raises(SystemExit):
        main([*words, "?"])
    refusal = capsys.readouterr().err.splitlines()[-1]
    assert re.search(rf"argument {words[1]}\S*: must be [\w ,.:-]+, got '\?'$", refusal)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--version"], "tcuq"),
        (["--help"], "tcuq"),
        ([], "calibrate a profile from recorded streams"),
    ],
)
def test_version_and_help_are_0(
    capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    """Version and help go to standard output; without a command there is help."""
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["fit", "none.npz", "-o", "p.json"], "none.npz: No such file"),
        (["fit", "stream.csv", "-o", "p.json"], "must end in .npz or .parquet"),
        (["fit", CALIBRATION, "-o", "p.json", "--alpha", "2"], "alpha must lie in"),
        (["fit", CALIBRATION, "-o", "p.json", "--lags", "4,1"], "lags must ascend"),
        (
            ["fit", CALIBRATION, "-o", "p.json", "--steps-per-false-alarm", "99"],
            "steps_per_false_alarm must be a whole number in 256..16777216, got 99",
        ),
        (["fit", CALIBRATION, "-o", "p.json", "--preset", "paper"], "needs a development stream"),
        (["fit", CALIBRATION, "-o", "none/p.json"], "there is no folder"),
        (["run", "none.json", TEST], "none.json: No such file"),
        (["run", TEST, TEST], "test.npz: a recorded stream, not a profile"),
        (["run", "PROFILE", "none.npz"], "none.npz: No such file"),
        (["run", "PROFILE", TEST, "-o", "t.csv"], "'t.csv': the output's name must end in .npz"),
        (["run", "PROFILE", "narrow.npz"], "posteriors must have 10 classes"),
        (["evaluate", "PROFILE", TEST, "--window", "0"], "window must be at least 1"),
        (["evaluate", "PROFILE", TEST, "--rounds", "-1"], "rounds must be at least 0"),
        (["evaluate", "PROFILE", TEST, "--seed", "-1"], "seed"),
        (["inspect", "none.json"], "none.json: No such file"),
        (["inspect", "p.yaml"], "must end in .json (a profile) or one of .npz, .parquet"),
        (["inspect", "none.parquet"], "none.parquet: No such file"),
        (["watch", "PROFILE", "field"], "field: the source must be a stream that ends in .npz or"),
    ],
)
def test_bad_input_is_1(
    arguments: list[str], rule: str, saved: str, refusal: Refusal, workplace: Path
) -> None:
    """A broken rule is one line on standard error, and no file is written."""
    assert rule in refusal(*[saved if word == "PROFILE" else word for word in arguments])
    assert [path.name for path in workplace.iterdir()] == ["narrow.npz"]


@pytest.mark.parametrize("command", ["demo", "fit", "evaluate", "parquet"])
def test_missing_library_is_3(tmp_path: Path, saved: str, command: str) -> None:
    """Without an optional library, a command that needs it names the extra to install."""
    (tmp_path / "s.parquet").write_bytes(b"")
    arguments, library, extra = {
        "demo": (["demo"], "scikit-learn", "fit"),
        "fit": (["fit", CALIBRATION, "-o", str(tmp_path / "p")], "scikit-learn", "fit"),
        "evaluate": (["evaluate", saved, TEST], "scikit-learn", "fit"),
        "parquet": (["inspect", str(tmp_path / "s.parquet")], "pyarrow", "parquet"),
    }[command]
    code = HIDING.format(["sklearn", "pyarrow"]) + RUN
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    message = f"tcuq: {library} is not installed: run  pip install 'tcuq[{extra}]'\n"
    assert (result.returncode, result.stdout, result.stderr) == (3, "", message)


def test_running_needs_numpy_alone(saved: str) -> None:
    """Without any optional library, a profile still runs and is inspected."""
    code = HIDING.format(["sklearn", "scipy", "pyarrow"]) + RUN
    for arguments in (["run", saved, TEST], ["inspect", saved], ["inspect", TEST]):
        command = [sys.executable, "-c", code, *arguments]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.filterwarnings("ignore::tcuq.errors.CalibrationWarning")
@pytest.mark.parametrize(("command", "after_s"), [("fit", 1.5), ("run", 0.7)])
def test_interrupted_is_130(tmp_path: Path, command: str, after_s: float) -> None:
    """Ctrl-C in the midst of the work leaves the old file, nothing beside it, and no traceback."""
    rng = np.random.default_rng(0)
    short = tcuq.Stream(rng.dirichlet([1, 1], 1000).astype(np.float32))
    tcuq.fit(short).save(tmp_path / "p.json")
    tcuq.Stream(np.tile(short.posteriors, (5000, 1))).save(tmp_path / "s.npz")
    output = tmp_path / ("out.json" if command == "fit" else "out.npz")
    output.write_bytes(b"old")
    files = ["s.npz"] if command == "fit" else ["p.json", "s.npz"]
    with subprocess.Popen(
        [sys.executable, "-c", READY + RUN, command, *files, "-o", output.name],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert (process.returncode, rest) == (130, "")
    assert errors == "tcuq: interrupted; nothing was left half written\n"
    assert output.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [output.name, "p.json", "s.npz"]


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Change to an empty folder and make any fit or run fail."""

    def work(*_: object, **__: object) -> None:
        pytest.fail("the work began before the output was refused")

    monkeypatch.setattr("tcuq.calibrate.fit", work)
    monkeypatch.setattr(tcuq.Monitor, "run", work)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_hostile_profiles_and_paths_do_not_hang() -> None:
    """A repeated member is found in linear time; an impossible path is refused in one line."""
    text = "{" + ",".join(f'"{number}":0' for number in range(20_000)) + ',"19999":0}'
    began = time.monotonic()
    with pytest.raises(ProfileError, match="'19999' is repeated"):
        tcuq.Profile.from_json(text)
    assert time.monotonic() - began < 1
    with pytest.raises(ProfileError) as caught:
        tcuq.Profile.load("a\0b")
    assert str(caught.value).isprintable()


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
