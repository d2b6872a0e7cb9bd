# SPDX-License-Identifier: Apache-2.0
"""The command line: one module per command, each with `add_parser` and `run`.

Exit codes: 0 done; 1 an input, profile or stream breaks a rule; 2 the command line itself is wrong;
3 an optional library is missing; 130 interrupted (no file is left half written).
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from tcuq.cli import (
    demo,
    evaluate,
    export,
    fit,
    fleet,
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
from tcuq.errors import CalibrationWarning, MissingExtraError, TcuqError
from tcuq.version import __version__

# In the order in which a user meets them; `tcuq --help` lists them so.
COMMANDS = (
    demo, record, plan, fit, inspect, run, evaluate, report, watch, tune, size, export,
    pack, replay, recalibrate,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        words = sys.argv[1:] if arguments is None else arguments
        args = _parser().parse_args(words or ["--help"])
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tcuq",
        description="Tells when a tiny model should not be trusted.",
        epilog="exit codes: 0 done, 1 bad input, 2 bad usage, 3 missing library, 130 interrupted",
    )
    parser.add_argument("--version", action="version", version=f"tcuq {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    parsers = []
    for module in COMMANDS:
        added = module.add_parser(commands)
        added.set_defaults(command=module.run)
        parsers.append(added)
    for command in (*parsers, *fleet.commands(commands)):
        command.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser
