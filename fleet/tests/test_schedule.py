# SPDX-License-Identifier: Apache-2.0
"""`fleet judge`: one judgement, or one at every full interval until it is stopped."""

import json
import subprocess
import sys
import time

import pytest

from tcuq.cli import main
from tcuq_fleet.store.store import Store


def test_the_command_judges_once(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints its judgement; a database that is away is an error."""
    assert main(["fleet", "judge", "--once", "--database", database, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["devices"] == 0
    unreachable = ["--webhook", "http://127.0.0.1:9/hook"]
    assert main(["fleet", "judge", "--once", "--database", database, *unreachable]) == 0
    assert main(["fleet", "judge", "--once", "--database", "postgresql://127.0.0.1:9/x"]) == 1
    assert "the database:" in capsys.readouterr().err


def test_the_command_judges_until_it_is_stopped(database: str, store: Store) -> None:
    """Two judges make one judgement per interval, and SIGTERM ends them."""
    command = [sys.executable, "-m", "tcuq.cli", "fleet", "judge", "--every", "1"]
    judges = [
        subprocess.Popen([*command, "--database", database], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    end = time.monotonic() + 30
    count = 0
    while count < 3 and time.monotonic() < end:
        time.sleep(0.2)
        ((count,),) = store.connection.execute("SELECT count(*) FROM judgements").fetchall()
    for process in judges:
        process.terminate()
    outputs = [process.communicate(timeout=20)[0] for process in judges]
    assert [process.returncode for process in judges] == [0, 0]
    assert sum(text.count(b"0 devices") for text in outputs) == count == 3
