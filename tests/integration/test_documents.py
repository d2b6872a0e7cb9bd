# SPDX-License-Identifier: Apache-2.0
"""What the documents, the how-to pages and --help say to type works as it stands."""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import tcuq
from tcuq.cli import GROUPS, _parser, main
from tcuq.demo import demo_stream
from tcuq.errors import CalibrationWarning
from tests.fixtures.docstrings import failed_examples
from tests.fixtures.pages import blocks

PAGES = ("record", "export", "size", "watch", "tune", "report")
ROOT = Path(__file__).parents[2]
MOST_COMMANDS = 5
COMMANDS = [module.__name__.rpartition(".")[2] for group in GROUPS.values() for module in group]
FRAGMENT = re.compile(r"(of|its|to|and|or|per|for|from|the) |default\b")


@pytest.fixture
def keyword_files(mlperf: Callable[[str], Path]) -> Callable[[Path], None]:
    """Put the keyword network of MLPerf Tiny, and inputs for it, into a folder."""

    def put(folder: Path) -> None:
        shutil.copy(mlperf("kws_ref_model"), folder)
        # Like a front end's: words of twenty frames or so, one after another.
        rng = np.random.default_rng(8)
        words = rng.normal(0, 30, (12, 49, 10))
        spoken = np.repeat(rng.integers(0, 12, 150), 20)
        inputs = 60 + words[spoken] + rng.normal(0, 12, (len(spoken), 49, 10))
        codes = np.clip(np.rint(inputs), -128, 127).astype(np.int8)
        np.savez(folder / "keywords.npz", inputs=codes)

    return put


@pytest.mark.parametrize("path", ["README.md", "docs/quickstart.md"])
def test_python_in_documents_runs(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a document, in order, as one program."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        for block in blocks(path, "python"):
            exec(compile(block, path, "exec"), names)  # noqa: S102 - our own documents
    assert names


def test_the_first_example_of_the_readme_warns_of_nothing(tmp_path: Path) -> None:
    """Run as a script in an empty folder, it ends well and prints nothing to standard error."""
    script = tmp_path / "example.py"
    script.write_text(blocks("README.md", "python")[0], "utf-8")
    command = [sys.executable, "-W", "always", str(script)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert tcuq.Profile.load(tmp_path / "monitor.json").provenance.findings == ()


@pytest.mark.parametrize("path", ["README.md", "docs/command-line.md"])
def test_commands_in_documents_run(
    path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    keyword_files: Callable[[Path], None],
) -> None:
    """Every tcuq command of a document ends with exit code 0, on the streams in the box."""
    keyword_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    for file, name in (("calibration", "calibration"), ("development",) * 2, ("field", "test")):
        demo_stream(name).save(f"{file}.npz")
    commands = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for block in blocks(path, "console")
        for line in block.splitlines()
    ]
    # Those of the fleet go on until they are stopped: fleet/tests/test_up.py types them.
    ours = [words[1:] for words in commands if words[0] == "tcuq" and words[1] != "fleet"]
    assert ours
    for words in ours:
        assert main(words) == 0, words


def test_examples_in_docstrings_run() -> None:
    """Every example of every module gives what it shows."""
    assert failed_examples(tcuq) == {}


def test_from_a_tflite_to_compiled_firmware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyword_files: Callable[[Path], None]
) -> None:
    """The pages' commands in their order, with a fit between, then the cross compiler."""
    keyword_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    ran = 0
    for page in PAGES:
        for line in "".join(blocks(f"docs/howto/{page}.md", "console")).splitlines():
            words = shlex.split(line.removeprefix("$ "))
            if words[0] == "tcuq":
                assert main(words[1:]) == 0, line
                ran += 1
        if page == "record":
            shutil.copy("stream.parquet", "field.parquet")
            assert main(["fit", "stream.parquet", "-o", "monitor.json"]) == 0
            for name in ("keywords", "gestures"):  # two models of one firmware
                shutil.copy("monitor.json", f"{name}.json")
    assert ran == 17
    sources = [str(path.resolve()) for path in sorted(Path("firmware/src").glob("*.c"))]
    flags = ["-mcpu=cortex-m4", "-mthumb", "-Os", "-std=c99", "-ffreestanding", "-Wall", "-Werror"]
    command = ["arm-none-eabi-gcc", *flags, "-Ifirmware/src", "-c", *sources]
    assert subprocess.run(command, check=False).returncode == 0


def test_python_of_the_report_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes the page it speaks of."""
    monkeypatch.chdir(tmp_path)
    for block in blocks("docs/howto/report.md", "python"):
        exec(compile(block, "report.md", "exec"), {})  # noqa: S102 - our own document
    page = Path("microphone.html").read_text("utf-8")
    stream = demo_stream("fault_microphone")
    errors = (stream.posteriors.argmax(axis=1) != stream.labels).sum()
    assert re.search(rf"\d+ of {errors} errors were accepted", page)


def test_a_tflite_becomes_firmware_in_five_commands(
    tmp_path: Path, keyword_files: Callable[[Path], None]
) -> None:
    """Typed as they stand, with this checkout installed; objects for a Cortex-M4 come out."""
    text = (ROOT / "README.md").read_text("utf-8").partition("## From your model to firmware")[2]
    block = re.search(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    commands = [line.removeprefix("$ ") for line in block[1].splitlines()]
    assert len(commands) <= MOST_COMMANDS
    assert commands[0].startswith("pip install 'tcuq[")
    commands[0] = f"pip install --quiet '{ROOT}[{commands[0].partition('[')[2]}"
    keyword_files(tmp_path)
    clean = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", str(clean)], check=True)
    environment = {n: v for n, v in os.environ.items() if not n.startswith("PYTHON")}
    path = f"{clean / 'bin'}{os.pathsep}{environment['PATH']}"
    place = {**environment, "PATH": path, "PIP_NO_COMPILE": "1"}  # compiled when it is imported
    for command in commands:
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env=place,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    sources = {path.stem for path in (tmp_path / "firmware/src").glob("*.c")}
    assert sources
    assert {path.stem for path in tmp_path.glob("*.o")} == sources


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str | None]]:
    """Yield each option of a parser and of its commands, with its help text."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of options
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for subparser in action.choices.values():
                yield from options(subparser)
        else:
            yield f"{parser.prog} {action.option_strings or action.dest}", action.help


def test_every_option_has_a_help_text_that_stands_alone() -> None:
    """A text explains an option without the line before it: "of that promise" does not."""
    texts = dict(options(_parser([])))
    assert [name for name, text in texts.items() if text is None or FRAGMENT.match(text)] == []


def test_commands_are_listed_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    """`tcuq --help` names every command under the heading of its group."""
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    for group, modules in GROUPS.items():
        at = lines.index(group)
        for place, module in enumerate(modules, at + 1):
            name = module.__name__.rpartition(".")[2]
            assert re.match(rf"  {name} +\w", lines[place])


@pytest.fixture(scope="module")
def examples() -> dict[str, list[str]]:
    """Return the words of each command's example."""
    (commands,) = (
        action
        for action in _parser([])._actions  # noqa: SLF001
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
    )
    return {
        name: shlex.split(parser.epilog.partition("tcuq ")[2])
        for name, parser in commands.choices.items()
    }


def test_every_example_works(
    examples: dict[str, list[str]],
    keyword_files: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Typed one after another in a folder of recordings, each ends with exit code 0."""
    keyword_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    shutil.move("kws_ref_model.tflite", "network.tflite")
    shutil.move("keywords.npz", "inputs.npz")
    assert list(examples) == COMMANDS
    for name, words in examples.items():
        demo_stream("calibration").save("calibration.npz")  # `record` writes another
        demo_stream("test").save("field.npz")
        assert words[0] == name
        assert main(words) == 0, words
