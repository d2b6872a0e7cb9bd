# SPDX-License-Identifier: Apache-2.0
"""One configuration: file, environment, command line; secrets by file; logs; TLS or loopback."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.measurements.configuration import MARKED, PAGE, parsers, table
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq_fleet.cli.configuration import ConfiguredParser
from tcuq_fleet.cli.logs import LineFormatter
from tcuq_fleet.cli.secrets import check_no_password, with_password
from tcuq_fleet.http_server import check_listener

FILE = """
database = "postgresql://db.example/fleet"
log-format = "json"
[judge]
silent-after = 64800
webhook = ["https://one.example", "https://two.example"]
[serve]
port = 9000
"""


@pytest.fixture
def judge() -> ConfiguredParser:
    """Return the parser of `fleet judge`."""
    return parsers()["judge"]


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Write a configuration file; return its path."""
    path = tmp_path / "fleet.toml"
    path.write_text(FILE, "utf-8")
    return str(path)


def test_the_command_line_wins_over_environment_over_file(
    judge: ConfiguredParser, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each source overrides the one below it, and the rest stays."""
    monkeypatch.setenv("TCUQ_FLEET_SILENT_AFTER", "100")
    monkeypatch.setenv("TCUQ_FLEET_LEVEL", "0.2")
    args = judge.parse_args(["--config", config, "--level", "0.05"])
    assert (args.database, args.silent_after) == ("postgresql://db.example/fleet", 100.0)
    assert (args.level, args.log_format, args.every) == (0.05, "json", 3600)
    assert args.webhook == ["https://one.example", "https://two.example"]


def test_the_file_can_be_named_in_the_environment(
    judge: ConfiguredParser, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TCUQ_FLEET_CONFIG names the file, and words of a variable are a list."""
    monkeypatch.setenv("TCUQ_FLEET_CONFIG", config)
    monkeypatch.setenv("TCUQ_FLEET_KEEP", "epochs=9 alarms=8")
    args = judge.parse_args([])
    assert (args.silent_after, args.keep) == (64800.0, ["epochs=9", "alarms=8"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("silent = 3", "silent is no option"),
        ("[judge]\nport = 3", "[judge] port is no option"),
        ("[judge]\nevery = 'soon'", "every must be a number, got 'soon'"),
        ("[judge]\nwebhook = 3", "webhook must be a list"),
        ("log-format = 'xml'", "log-format must be one of text, json"),
        ("every = ", "fleet.toml: "),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_key(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unknown keys and wrong values are refused by name."""
    path = tmp_path / "fleet.toml"
    path.write_text(text, "utf-8")
    assert main(["fleet", "judge", "--once", "--config", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_password_comes_from_a_private_file_alone(tmp_path: Path) -> None:
    """A file's password joins the connection; a URL with one, or a public file, is refused."""
    path = tmp_path / "password"
    path.write_text("s3cret\n", "utf-8")
    path.chmod(0o600)
    assert "password=s3cret" in with_password("postgresql://a@b/fleet", str(path))
    path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        with_password("postgresql://a@b/fleet", str(path))
    for url in ("postgresql://a:pw@b/fleet", "host=b password=pw", "postgresql://b/x?password=pw"):
        with pytest.raises(InputError, match="no password") as refusal:
            check_no_password(url)
        assert "pw" not in str(refusal.value)
    check_no_password("postgresql://a@[::1]:5432,c:5433/fleet")


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
    """fleet/docs/configuration.md holds the tables that the parsers give."""
    sections = MARKED.findall(PAGE.read_text("utf-8"))
    assert len(sections) == 6
    for match in MARKED.finditer(PAGE.read_text("utf-8")):
        assert match[0] == match[1] + table(match[2]) + match[3]
        assert "|  |\n" not in match[0]
