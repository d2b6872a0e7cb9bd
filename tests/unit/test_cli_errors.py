# SPDX-License-Identifier: Apache-2.0
"""Messages and exit codes of the command line's errors."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.cli import main

BOX = Path(tcuq.__file__).parent / "data/keywords"
CALIBRATION, TEST = str(BOX / "calibration.npz"), str(BOX / "test.npz")
# A job started in the background ignores Ctrl-C, and so would its children.
READY = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from tcuq.cli import main; print('ready', flush=True); "
)
HIDING = "import sys; [sys.modules.update({{n: None}}) for n in {}]; from tcuq.cli import main; "
RUN = "sys.exit(main(sys.argv[1:]))"


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder commands run in; it holds a stream of two classes."""
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


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_are_0(capsys: pytest.CaptureFixture[str], option: str) -> None:
    """Version and help go to standard output."""
    with pytest.raises(SystemExit) as caught:
        main([option])
    assert caught.value.code == 0
    assert "tcuq" in capsys.readouterr().out


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
        (["run", TEST, TEST], "test.npz: not a JSON document"),
        (["run", "PROFILE", "none.npz"], "none.npz: No such file"),
        (["run", "PROFILE", TEST, "-o", "t.csv"], "'t.csv': the output's name must end in .npz"),
        (["run", "PROFILE", "narrow.npz"], "posteriors must have 10 classes"),
        (["evaluate", "PROFILE", TEST, "--window", "0"], "window must be at least 1"),
        (["evaluate", "PROFILE", TEST, "--rounds", "-1"], "rounds must be at least 0"),
        (["inspect", "none.json"], "none.json: No such file"),
        (["inspect", "p.yaml"], "must end in .npz or .parquet"),
    ],
)
def test_bad_input_is_1(
    arguments: list[str],
    rule: str,
    saved: str,
    capsys: pytest.CaptureFixture[str],
    workplace: Path,
) -> None:
    """A broken rule is one line on standard error, and no file is written."""
    assert main([saved if argument == "PROFILE" else argument for argument in arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("tcuq: ")
    assert captured.err.count("\n") == 1
    assert rule in captured.err
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
