# SPDX-License-Identifier: Apache-2.0
"""The command line: one module per command, which adds its arguments and runs it.

Exit codes: 0 done; 1 an input, profile or stream breaks a rule; 2 the command line itself is wrong;
3 an optional library is missing; 130 interrupted (no file is left half written).
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import entry_points
from types import ModuleType

from tcuq.cli import (
    demo,
    evaluate,
    export,
    fit,
    inspect,
    pack,
    plan,
    recalibrate,
    record,
    replay,
    report,
    run,
    size,
    tune,
    watch,
)
from tcuq.cli.output import Commands, add_command
from tcuq.errors import CalibrationWarning, MissingExtraError, TcuqError
from tcuq.version import __version__

Extension = Callable[[Commands], Iterable[argparse.ArgumentParser]]
# In the order in which a user meets them.
GROUPS: dict[str, tuple[ModuleType, ...]] = {
    "start": (demo, record, plan, fit),
    "understand": (inspect, run, evaluate, report, watch, tune),
    "deploy": (size, export),
    "many streams": (pack, replay, recalibrate),
}
# Commands of other distributions, found by their entry points: what each does, what to install.
EXTENSIONS = {"fleet": ("store, judge and show the records of many devices", "tcuq-fleet")}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        words = sys.argv[1:] if arguments is None else arguments
        args = _parser(words).parse_args(words or ["--help"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CalibrationWarning)
            args.command(args)
        sys.stdout.flush()  # here, where a closed pipe is expected, not at exit
        for warning in caught:
            if not issubclass(warning.category, CalibrationWarning):
                print(f"tcuq: {warning.message}", file=sys.stderr)
    except MissingExtraError as error:
        print(f"tcuq: {error}", file=sys.stderr)
        return 3
    except TcuqError as error:
        print(f"tcuq: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader closed the pipe: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"tcuq: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tcuq: interrupted; nothing was left half written", file=sys.stderr)
        return 130
    return 0


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tcuq",
        usage="tcuq COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="`tcuq COMMAND --help` has the options and an example.\n"
        "exit codes: 0 done, 1 bad input, 2 bad usage, 3 missing library, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"tcuq {__version__}")
    commands = parser.add_subparsers(
        prog="tcuq", required=True, metavar="COMMAND", help=argparse.SUPPRESS
    )
    listing = []
    for group, modules in GROUPS.items():
        listing.append(group)
        for module in modules:
            name = module.__name__.rpartition(".")[2]
            added = add_command(commands, name, module.SENTENCE, module.EXAMPLE)
            module.add_arguments(added)
            added.set_defaults(command=module.run)
            _add_json([added])
            listing.append(_listed(name, module.SENTENCE))
    for name, (sentence, distribution) in EXTENSIONS.items():
        listing += [name, _listed(name, f"{sentence} (pip install {distribution})")]
        if words[:1] == [name]:
            _add_json(_extension(name, distribution)(commands))
    parser.description = "Tells when a tiny model should not be trusted.\n\n" + "\n".join(listing)
    return parser


def _listed(name: str, sentence: str) -> str:
    return f"  {name:<12} {sentence}"


def _add_json(parsers: Iterable[argparse.ArgumentParser]) -> None:
    for parser in parsers:
        parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _extension(name: str, distribution: str) -> Extension:
    """Load what adds the parsers of an extension's commands."""
    for entry in entry_points(group="tcuq.commands", name=name):
        loaded: Extension = entry.load()
        return loaded
    raise MissingExtraError(f"`tcuq {name}`", distribution)
