# SPDX-License-Identifier: Apache-2.0
"""Configuration: a command's options from the command line, the environment and a TOML file.

The command line wins over the environment, the environment over the file. A key before the first
table serves every command that has the option; a table, such as [judge], only its command.
"""

import argparse
import os
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    CliSettingsSource,
    EnvSettingsSource,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from tcuq.cli.output import Commands, add_command, print_result
from tcuq.errors import InputError
from tcuq_fleet.cli.logs import set_up_logging

PREFIX = "TCUQ_FLEET_"
MAX_FILE_BYTES = 1 << 20
USAGE_ERRORS = ("int_parsing", "float_parsing", "literal_error")  # exit with 2, as argparse does


def _split(value: object) -> object:
    return value.split() if isinstance(value, str) else value


# A repeatable option: a list in the file, words in the environment.
Words = Annotated[list[str], NoDecode, BeforeValidator(_split)]


def key(name: str) -> str:
    """Return the key in the file of a field; `--key` is its option."""
    return name.replace("_", "-")


def variable(name: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + name.upper()


class EnvironmentSource(EnvSettingsSource):
    """Variables of the environment, for fields that are not of the command line alone."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the variable's value, the field's name and whether the value is JSON."""
        if field_name in getattr(self.settings_cls, "command_line_only", ()):
            return None, field_name, False
        return super().get_field_value(field, field_name)


class Command(BaseSettings):
    """A `fleet` command: fields are its options, the docstring and `example` are its help."""

    model_config = SettingsConfigDict(
        frozen=True, allow_inf_nan=False, env_prefix=PREFIX, cli_kebab_case=True,
        cli_implicit_flags=True, cli_hide_none_type=True, cli_parse_none_str="none",
    )  # fmt: skip
    example: ClassVar[str] = ""
    command_line_only: ClassVar[tuple[str, ...]] = ()  # fields that are not configurable
    tables: ClassVar[dict[str, set[str]]] = {}  # the keys of every command's table in the file

    config: str | None = Field(None, description="TOML file of options")
    log_format: Literal["text", "json"] = Field("text", description="format of the log")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least level that is logged"
    )
    _arguments: argparse.Namespace = PrivateAttr()

    @classmethod
    def __pydantic_init_subclass__(cls, **_: object) -> None:
        """Register the command's keys, so that other keys of the file can be refused."""
        cls.tables.setdefault(cls.table(), set()).update(cls.configurable())

    @classmethod
    def settings_customise_sources(  # type: ignore[override] # only these sources are used
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        **_: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of values, the strongest first."""
        return init_settings, EnvironmentSource(settings_cls), FileSource(settings_cls, {})

    @classmethod
    def table(cls) -> str:
        """Return the command's table in the file, by default its name."""
        return cls.__name__.lower()

    @classmethod
    def configurable(cls) -> dict[str, FieldInfo]:
        """Return the options that the environment and the file may set, by key."""
        left_out = {"config", *cls.command_line_only}
        return {key(name): f for name, f in cls.model_fields.items() if name not in left_out}

    @classmethod
    def add_to(cls, commands: Commands) -> argparse.ArgumentParser:
        """Add the command's parser, with an option per field."""
        name = "".join(f"-{c.lower()}" if c.isupper() else c for c in cls.__name__).strip("-")
        doc = cls.__doc__ or ""
        sentence = doc[:1].lower() + doc[1:].removesuffix(".")
        parser = add_command(commands, name, sentence, f"fleet {cls.example}")
        CliSettingsSource(cls, root_parser=parser)
        parser.set_defaults(options=partial(cls.from_arguments, parser), command=_run)
        return parser

    @classmethod
    def from_arguments(cls, parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> Self:
        """Validate the command line's values over the environment's over the file's.

        The namespace is read here: pydantic-settings would split a list's items at commas, and a
        webhook's URL may hold one.
        """
        values = {name: vars(arguments)[name] for name in cls.model_fields if name in arguments}
        try:
            options = cls(**values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name = str(first["loc"][0]) if first["loc"] else ""
            message = cls._explain(first, name, values)
            if first["type"] == "missing" or (first["type"] in USAGE_ERRORS and name in values):
                parser.error(message)
            raise InputError(message) from None
        options._arguments = arguments
        set_up_logging(options.log_format, options.log_level)
        return options

    @classmethod
    def _explain(cls, error: ErrorDetails, name: str, values: Mapping[str, Any]) -> str:
        """Return an error in one line: the option with its source, the rule and the value."""
        rule = error["msg"].removeprefix("Value error, ")
        if not name:  # a rule about several options
            return rule
        if error["type"] == "missing":
            return f"--{key(name)} is required"
        if name in cls.command_line_only:
            where = name
        elif name in values:
            where = f"--{key(name)}"
        elif variable(name) in os.environ:
            where = variable(name)
        else:
            where = f"{values.get('config', os.environ.get(variable('config')))}: {key(name)}"
        if error["type"] == "value_error":
            return f"{where} {rule}"
        rule = rule.partition(", unable")[0].replace("Input should", "must")
        is_secret = not cls.model_fields[name].repr  # a URL may hold a token
        return f"{where} {rule}" + ("" if is_secret else f", got {error['input']!r}")

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError

    @property
    def json_requested(self) -> bool:
        """Whether `--json` was given."""
        return bool(self._arguments.json)

    def print_result(self, facts: Mapping[str, Any], text: str) -> None:
        """Print the facts as JSON if `--json` was given, else the text."""
        print_result(self._arguments, facts, text)


class FileSource(InitSettingsSource):
    """The values of a command in the TOML file that its option `config` names."""

    def __call__(self) -> dict[str, Any]:
        """Read the file, if there is one; refuse keys that are no options."""
        path, command = self.current_state.get("config"), self.settings_cls
        return read_file(path, command) if path and issubclass(command, Command) else {}


def read_file(path: str, command: type[Command]) -> dict[str, Any]:
    """Read a command's options from a TOML file: its table over what precedes the first table."""
    text = Path(path).read_bytes()[: MAX_FILE_BYTES + 1]
    if len(text) > MAX_FILE_BYTES:
        raise InputError(f"{path} must have at most {MAX_FILE_BYTES} bytes")
    try:
        document = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    tables = {name: value for name, value in document.items() if isinstance(value, dict)}
    shared = {name: value for name, value in document.items() if name not in tables}
    every_key = set().union(*command.tables.values())
    for table, values in [("", shared), *tables.items()]:
        known = command.tables.get(table, set()) if table else every_key
        for name in values:
            if name not in known:
                where = f"[{table}] {name}" if table else name
                raise InputError(f"{path}: {where} is no option: see  tcuq fleet --help")
    values = shared | tables.get(command.table(), {})
    return {k.replace("-", "_"): v for k, v in values.items() if k in command.configurable()}


def _run(arguments: argparse.Namespace) -> None:
    arguments.options(arguments).run()
