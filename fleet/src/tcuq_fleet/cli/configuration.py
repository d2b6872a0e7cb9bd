# SPDX-License-Identifier: Apache-2.0
"""Configuration: every option of a `fleet` command also in a TOML file and in the environment.

The command line wins over the environment, the environment over the file. A key before the first
table serves every command that has the option; a table, such as [judge], only its command.
"""

import argparse
import os
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from tcuq.errors import InputError
from tcuq_fleet.cli.logs import FORMATS, LEVELS, set_up_logging
from tcuq_fleet.cli.secrets import check_no_password, with_password

PREFIX = "TCUQ_FLEET_"
MAX_FILE_BYTES = 1 << 20
NOT_CONFIGURED = ("help", "config", "json", "once", "roles")


class ConfiguredParser(argparse.ArgumentParser):
    """A parser of one `fleet` command whose defaults come from the environment and a file."""

    commands: ClassVar[list["ConfiguredParser"]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - argparse's
        super().__init__(*args, **kwargs)
        self.commands.append(self)
        self.add_argument("--config", metavar="FILE.toml", help="options from a file")
        self.add_argument(
            "--log-format", choices=FORMATS, default="text", help="format of the log, default: text"
        )
        self.add_argument(
            "--log-level",
            choices=LEVELS,
            default="info",
            help="least level that is logged, default: info",
        )

    @property
    def section(self) -> str:
        """The command's name, which is its table's in the file."""
        return self.prog.split()[2]  # "tcuq fleet registry retire" is of the table [registry]

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the command line over the environment over the file."""
        first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        first.add_argument("--config", default=os.environ.get(PREFIX + "CONFIG"))
        path = first.parse_known_args(args)[0].config
        if path is not None:
            known: dict[str, set[str]] = {}
            for one in self.commands:
                known.setdefault(one.section, set()).update(key for key, _ in one.options())
            self._set(read_file(path, self.section, known), f"{path}: ")
        names = {key: variable(key) for key, _ in self.options()}
        variables = {key: os.environ[name] for key, name in names.items() if name in os.environ}
        self._set(variables, f"{PREFIX}... ")
        parsed, rest = super().parse_known_args(args, namespace)
        set_up_logging(parsed.log_format, parsed.log_level)
        if "database" in dict(self.options()) and parsed.database is not None:
            check_no_password(parsed.database)
            if parsed.database_password_file and self.section != "up":  # it tells its children
                parsed.database = with_password(parsed.database, parsed.database_password_file)
        return parsed, rest

    def options(self) -> Iterator[tuple[str, argparse.Action]]:
        """Yield every option that can be configured, with its key."""
        for action in self._actions:
            if action.option_strings and action.dest not in NOT_CONFIGURED:
                yield action.option_strings[-1].removeprefix("--"), action

    def _set(self, values: Mapping[str, object], source: str) -> None:
        """Make values the defaults of their options."""
        for key, action in self.options():
            if key in values:
                action.default = _parse(action, values[key], f"{source}{key}")
                action.required = False


def variable(key: str) -> str:
    """Return the environment variable of an option."""
    return PREFIX + key.upper().replace("-", "_")


def read_file(path: str, section: str, known: Mapping[str, Collection[str]]) -> dict[str, object]:
    """Read a command's options from a TOML file; `known` are the keys of each command."""
    text = Path(path).read_bytes()[: MAX_FILE_BYTES + 1]
    try:
        document = tomllib.loads(text.decode()) if len(text) <= MAX_FILE_BYTES else None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    if document is None:
        raise InputError(f"{path} must have at most {MAX_FILE_BYTES} bytes")
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    shared = {key: value for key, value in document.items() if key not in tables}
    for name, table in [("", shared), *tables.items()]:
        keys = known.get(name, ()) if name else {key for some in known.values() for key in some}
        for key in table:
            if key not in keys:
                where = f"[{name}] {key}" if name else key
                raise InputError(f"{path}: {where} is no option: see  tcuq fleet --help")
    return shared | tables.get(section, {})


def _parse(action: argparse.Action, value: object, name: str) -> object:
    """Return a configured value as the command line would give it."""
    if isinstance(action, argparse._StoreTrueAction):  # noqa: SLF001 - argparse has no public name
        if value in (True, "true", "false", False):
            return value in (True, "true")
        raise InputError(f"{name} must be true or false, got {value!r}")
    if isinstance(action, argparse._AppendAction):  # noqa: SLF001 - as above
        items = value.split() if isinstance(value, str) else value
        if not isinstance(items, list):
            raise InputError(f"{name} must be a list, got {value!r}")
        return [_convert(action, item, name) for item in items]
    return _convert(action, value, name)


def _convert(action: argparse.Action, value: object, name: str) -> object:
    if isinstance(value, (bool, dict, list)):
        raise InputError(f"{name} must be a string or a number, got {value!r}")
    convert = action.type if callable(action.type) else str
    try:
        result: object = convert(str(value))
    except (ValueError, argparse.ArgumentTypeError):
        raise InputError(f"{name} must be {_kind(action)}, got {value!r}") from None
    if action.choices is not None and result not in action.choices:
        raise InputError(f"{name} must be one of {', '.join(action.choices)}, got {value!r}")
    return result


def _kind(action: argparse.Action) -> str:
    return {int: "an integer", float: "a number"}.get(action.type, "valid")  # type: ignore[call-overload, no-any-return]
