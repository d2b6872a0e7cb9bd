# SPDX-License-Identifier: Apache-2.0
"""`--help` of every command: one sentence, options explained, one example that works."""

import argparse
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tcuq.cli import GROUPS, _parser, main
from tcuq.demo import demo_stream

COMMANDS = [module.__name__.rpartition(".")[2] for group in GROUPS.values() for module in group]
FRAGMENT = re.compile(r"(of|its|to|and|or|per|for|from|the) |default\b")


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
