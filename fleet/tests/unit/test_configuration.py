# SPDX-License-Identifier: Apache-2.0
"""One configuration: file, environment, command line; secrets by file; logs; TLS or loopback."""

import argparse
import json
import logging
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.measurements.configuration import MARKED, PAGE, table
from fleet.tests.fixtures.commands import parse, parsers
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq_fleet.cli.configuration import MAX_FILE_BYTES
from tcuq_fleet.cli.logs import LineFormatter
from tcuq_fleet.cli.report import Report
from tcuq_fleet.cli.secrets import check_no_password, with_password
from tcuq_fleet.http_server import check_listener

FILE = """
database = "postgresql://db.example/fleet"
log-format = "json"
[judge]
silent-after = 64800
webhook = ["https://one.example/a,b", "https://two.example"]
[serve]
port = 9000
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Write a configuration file; return its path."""
    path = tmp_path / "fleet.toml"
    path.write_text(FILE, "utf-8")
    return str(path)


def test_the_command_line_wins_over_environment_over_file(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each source overrides the one below it, and the rest stays."""
    monkeypatch.setenv("TCUQ_FLEET_SILENT_AFTER", "100")
    monkeypatch.setenv("TCUQ_FLEET_LEVEL", "0.2")
    options = parse("judge", "--config", config, "--level", "0.05")
    assert (options.database, options.silent_after) == (["postgresql://db.example/fleet"], 100)
    assert (options.level, options.log_format, options.every) == (0.05, "json", 3600)
    assert options.webhook == ["https://one.example/a,b", "https://two.example"]
    options = parse("judge", "--config", config, "--webhook", "https://a/,b", "--webhook", "c")
    assert options.webhook == ["https://a/,b", "c"]


def test_the_file_can_be_named_in_the_environment(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TCUQ_FLEET_CONFIG names the file, and words of a variable are a list."""
    monkeypatch.setenv("TCUQ_FLEET_CONFIG", config)
    monkeypatch.setenv("TCUQ_FLEET_KEEP", "epochs=9 alarms=8")
    options = parse("judge")
    assert (options.silent_after, options.keep) == (64800, ["epochs=9", "alarms=8"])


def test_positional_words_and_single_acts_are_not_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the environment nor the file names a folder to report, or says to judge once."""
    monkeypatch.setenv("TCUQ_FLEET_FOLDER", "elsewhere")
    monkeypatch.setenv("TCUQ_FLEET_ONCE", "true")
    assert parse("report", "here").folder == "here"
    assert not parse("judge").once
    path = tmp_path / "fleet.toml"
    path.write_text("[judge]\nonce = true\n", "utf-8")
    assert main(["fleet", "judge", "--config", str(path)]) == 1
    assert "[judge] once is no option" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("silent = 3", "silent is no option"),
        ("[judge]\nport = 3", "[judge] port is no option"),
        ("[judge]\nevery = 'soon'", "fleet.toml: every must be a valid number, got 'soon'"),
        ("[judge]\nwebhook = 3", "webhook must be a valid list"),
        ("log-format = 'xml'", "log-format must be 'text' or 'json', got 'xml'"),
        ("every = ", "fleet.toml: "),
        ("# " + "x" * MAX_FILE_BYTES, "must have at most"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_key(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown keys and wrong values are refused by name, in one line."""
    path = tmp_path / "fleet.toml"
    path.write_text(text, "utf-8")
    assert main(["fleet", "judge", "--once", "--config", str(path)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("judge --every 0", "--every must be greater than 0, got '0'"),
        ("judge --level 0.6", "--level must be less than or equal to 0.5, got '0.6'"),
        ("judge --keep alarms=0", "--keep must be one of judgements, alarms,"),
        ("judge --gone-after 60", "gone-after must be above silent-after, got 60 and 10800"),
        ("judge --dashboard-url ftp://x", "--dashboard-url must be http:// or https://"),
        ("report x --share 2", "--share must be less than or equal to 1, got '2'"),
        ("ingest --quota 0", "--quota must be greater than or equal to 1, got '0'"),
        ("ingest --accept-unsigned", "--accept-unsigned needs --keys"),
        ("ingest --broker mqtts://host", "mqtts:// and --ca go together"),
        ("ingest --broker http://host", "broker must be mqtt://host[:port] or mqtts://, got 'http"),
        ("ingest --broker mqtt://", "broker must be mqtt://host[:port]"),
        ("ingest --broker mqtt://host/topic", "broker must be mqtt://host[:port]"),
        ("ingest --broker mqtt://host:x", "broker: Port could not be cast"),
        ("simulate --devices 1 --broker mqtt://127.0.0.1:1", "127.0.0.1:1: no broker answers"),
        ("ingest --mount-point a/+/", "--mount-point String should match pattern"),
        ("ingest --certificate a.pem", "--certificate and --key go together"),
        ("serve --port 0", "--port must be greater than or equal to 1"),
        ("serve --database dbname=x --host ::", "host must be this machine alone"),
        ("simulate --devices 1 --drift 101%", "--drift must be less than or equal to 1"),
        ("simulate --devices 1 --drift x%", "--drift must be a share such as 5%"),
        ("simulate --devices 1 --reboot nan", "--reboot must be a finite number"),
        ("simulate --devices 1 --drift-firmware 9.9", "drift-firmware must be one of 1.6, 1.7"),
        ("registry mute a1", "device must be 16 digits of 0-9a-f, got 'a1'"),
    ],
)
def test_a_value_out_of_bounds_is_an_error_of_one_line(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the option, the rule and the value; the exit code is 1."""
    assert main(["fleet", *words.split()]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("judge --every soon", "--every must be a valid number, got 'soon'"),
        ("ingest --claim some", "--claim must be 'authenticated', 'sites', 'enrolled' or 'open'"),
        ("simulate", "--devices is required"),
        ("simulate --devices 1 --loss x", "--loss must be a valid number, got 'x'"),
        ("judge --unknown", "unrecognized arguments: --unknown"),
    ],
)
def test_words_that_cannot_be_read_are_wrong_usage(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2, as for every command of tcuq."""
    with pytest.raises(SystemExit, match="2"):
        main(["fleet", *words.split()])
    assert message in capsys.readouterr().err


def test_no_message_shows_a_secret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Errors about a URL, a token or a file of keys leave out what may be secret."""
    keys = tmp_path / "keys.json"
    keys.write_text('{"1": "s3cret"}', "utf-8")
    monkeypatch.setenv("TCUQ_FLEET_WEBHOOK", "ftp://hook/s3cret")
    for words in (
        ["judge", "--once"],
        ["judge", "--once", "--database", "postgresql://a:s3cret@b/fleet"],
        ["ingest", "--keys", str(keys)],
        ["registry", "add-gateway", "gate-1", "--site", "a", "--token-sha256", "s3cret"],
    ):
        assert main(["fleet", *words]) == 1
    assert "s3cret" not in capsys.readouterr().err


def test_a_password_comes_from_a_private_file_alone(tmp_path: Path) -> None:
    """A file's password joins the connection; a URL with one, or a public file, is refused."""
    path = tmp_path / "password"
    path.write_text("s3cret\n", "utf-8")
    path.chmod(0o600)
    words = ["--database", "postgresql://a@b/fleet", "--database-password-file", str(path)]
    assert "password=s3cret" in parse("judge", *words).databases[0]
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        with_password("postgresql://a@b/fleet", str(path))
    path.write_text("two\nlines", "utf-8")
    path.chmod(0o600)
    with pytest.raises(InputError, match="must hold one line"):
        with_password("postgresql://a@b/fleet", str(path))
    for url in (
        "postgresql://a:pw@b/fleet",
        "host=b password = pw",
        "postgresql://b/x?passw%6frd=p",
    ):
        with pytest.raises(ValueError, match="no password"):
            check_no_password(url)
    check_no_password("postgresql://a@[::1]:5432,c:5433/fleet")


@pytest.mark.parametrize(
    ("text", "valid"), [('{"1": "' + "ab" * 32 + '"}', True), ('{"1": "ab"}', False), ("[]", False)]
)
def test_keys_are_read_from_a_json_object(tmp_path: Path, text: str, *, valid: bool) -> None:
    """Each key has an id and at least 16 bytes."""
    path = tmp_path / "keys.json"
    path.write_text(text, "utf-8")
    options = parse("ingest", "--keys", str(path))
    if valid:
        assert options.read_keys() is not None
    else:
        with pytest.raises(InputError, match="at least 16 bytes per key"):
            options.read_keys()


def test_a_process_listens_beyond_this_machine_with_tls_alone() -> None:
    """Other hosts need a certificate with its key."""
    for host in ("0.0.0.0", "::", "10.0.0.1", "db.example"):  # noqa: S104 - refused
        with pytest.raises(InputError, match="--http-certificate"):
            check_listener(host, None, None)
    check_listener("0.0.0.0", "a.pem", "a.key")  # noqa: S104 - with TLS
    check_listener("127.0.0.1", None, None)
    with pytest.raises(InputError, match="go together"):
        check_listener("127.0.0.1", "a.pem", None)


@pytest.mark.parametrize("style", ["text", "json"])
def test_a_log_line_has_time_level_and_logger(style: str) -> None:
    """An event with an exception is one line in either format."""
    try:
        int("two\nlines")
    except ValueError:
        record = logging.LogRecord(
            "tcuq.x", logging.WARNING, "", 0, "a\n%s", ("b",), sys.exc_info()
        )
    line = LineFormatter(style).format(record)
    assert "\n" not in line
    if style == "json":
        fields = json.loads(line)
        assert (fields["level"], fields["logger"], fields["message"]) == (
            "warning",
            "tcuq.x",
            "a\nb",
        )
        assert fields["time"].endswith("Z")
        assert "two" in fields["exception"]
    else:
        assert " warning tcuq.x a\\nb " in line


def test_a_process_logs_json_lines() -> None:
    """A judge without a database logs JSON to standard error."""
    line = [sys.executable, "-m", "tcuq.cli", "fleet", "judge", "--log-format", "json",
            "--database", "postgresql://127.0.0.1:1/x"]  # fmt: skip
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = json.loads(process.stderr.readline())
        process.terminate()
        process.communicate()
    assert (first["level"], first["logger"]) == ("warning", "tcuq_fleet.judge")


def test_the_page_lists_every_option() -> None:
    """fleet/docs/configuration.md holds the tables that the commands' models give."""
    sections = list(MARKED.finditer(PAGE.read_text("utf-8")))
    assert {match[2] for match in sections} >= {"shared", "ingest", "judge", "serve", "migrate"}
    for match in sections:
        assert match[0] == match[1] + table(match[2]) + match[3]
        assert "|  |\n" not in match[0]


def test_help_starts_without_servers_libraries() -> None:
    """Neither FastAPI nor psycopg is imported before a command runs."""
    code = (
        "import sys, contextlib, tcuq.cli\n"
        "with contextlib.suppress(SystemExit): tcuq.cli.main(['fleet', 'serve', '--help'])\n"
        "sys.exit(','.join({'fastapi', 'psycopg', 'uvicorn'} & sys.modules.keys()) or None)"
    )
    line = [sys.executable, "-c", code]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert "example:\n  tcuq fleet serve" in result.stdout


@pytest.mark.parametrize(("command", "parser"), parsers().items())
def test_every_help_has_a_sentence_and_an_example_that_parses(
    command: str, parser: argparse.ArgumentParser
) -> None:
    """The example is the command's own, and its options are accepted."""
    assert parser.description
    assert parser.description.endswith(".")
    example = (parser.epilog or "").removeprefix("example:\n  tcuq ")
    assert example.startswith(command)
    words = shlex.split(example.removeprefix(command))
    assert parse(command.removeprefix("fleet "), *words) is not None


def test_the_examples_that_need_no_server_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fleet report` of a folder prints what it holds."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records").mkdir()
    assert main(shlex.split(f"fleet {Report.example}")) == 0
    assert capsys.readouterr().out.startswith("0 devices, 0 records")
