# SPDX-License-Identifier: Apache-2.0
"""Pages over HTTP: what they say, whom they answer, and what happens when something is missing."""

import json
import re
from collections.abc import Callable

import psycopg
import pytest

from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.fleet.serve import create_app, serve
from tcuq.fleet.servers import free_port
from tcuq.fleet.store.migrate import migrate
from tools.measurements.dashboard_server import get, live
from tools.measurements.fleet_seed import seed


def text_of(page: str) -> str:
    """A page's words."""
    body = page.partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/", "Firmware 1.8.0 drifts"),
        ("/", r"Firmware 1\.8\.0: \d+ of 1,250 devices drifted"),
        ("/?level=0.001", r"0\.05 \d+ judged at"),
        ("/?hours=168", "Records an hour"),
        ("/group?firmware=1.8.0", "The group drifts as a whole"),
        ("/group?firmware=1.8.0&site=tromso", "Firmware 1.8.0, site tromso"),
        ("/group?site=lyon", "Site lyon"),
        ("/suspects?site=tromso", "tromso"),
        ("/suspects?page=200", "The list is shorter than that"),
        ("/alarms", "Firmware 1.8.0 drifts"),
        ("/alarms?kind=silent", "stopped reporting"),
    ],
)
def test_pages_say_what_they_should(address: str, path: str, says: str) -> None:
    """Each in plain words."""
    answer = get(address + path)
    assert answer.status == 200
    assert re.search(says, text_of(answer.text))


def test_a_device_is_found_however_its_id_was_copied(address: str, suspect: str) -> None:
    """Upper case, colons, 0x; and its page says what its evidence means."""
    odd = "0x" + ":".join(suspect.upper()[i : i + 2] for i in range(0, 16, 2))
    words = text_of(get(f"{address}/search?q={odd}").text)
    assert suspect in words
    assert "bits: a device that has not drifted shows as much in at most one of" in words
    assert "it is discovered" in words


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/device/00000000000000ff", 404, "No record of device 00000000000000ff was stored"),
        ("/search?q=tomato", 404, "16 digits of 0-9 and a-f"),
        ("/group?firmware=9.9.9", 404, "There is no device of firmware 9.9.9"),
        ("/group?firmware=1.8", 422, "firmware"),
        ("/group?site=%3Cscript%3E", 422, "site"),
        ("/?level=0.9", 422, "level"),
        ("/?level=nan", 422, "level"),
        ("/?hours=100000", 422, "hours"),
        ("/suspects?page=0", 422, "page"),
        ("/suspects?page=999999", 422, "page"),
        ("/alarms?kind=x", 422, "kind"),
        ("/device/xyz", 422, "device"),
        ("/nowhere", 404, "There is no such page"),
    ],
)
def test_mistakes_are_explained(address: str, path: str, status: int, says: str) -> None:
    """A page that says what is wrong, in the look of the others, with a way back."""
    answer = get(address + path)
    assert answer.status == status
    assert says in text_of(answer.text)
    assert "To the fleet" in answer.text
    assert "<script>" not in answer.text


def test_every_answer_carries_the_policy(address: str) -> None:
    """Own scripts and styles alone, no frame around, nothing kept but what its address names."""
    for path in ("/", "/nowhere", "/api/fleet", "/metrics"):
        answer = get(address + path)
        assert "default-src 'none'; script-src 'self'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
    style = re.search(r"/static/fleet\.css\?v=\w+", get(address).text)
    assert style is not None
    assert "immutable" in get(address + style[0]).headers["cache-control"]


def test_an_empty_database_says_what_to_do_next(fresh: Callable[[str], str]) -> None:
    """No tables, no records, no judgement: each has its sentence."""
    database = fresh("empty")
    with live(database) as address:
        assert get(f"{address}/readyz").status == 503
        answer = get(address)
        assert (answer.status, "start a worker" in text_of(answer.text)) == (503, True)
        with psycopg.connect(database, autocommit=True) as connection:
            migrate(connection)
        assert get(f"{address}/readyz").status == 200
        assert "tcuq fleet ingest" in text_of(get(address).text)
        for path in ("/suspects", "/alarms", "/api/fleet", "/api/groups", "/metrics"):
            assert get(address + path).status == 200
        seed(database, 500, judged=False)
        words = text_of(get(address).text)
        assert "Not judged yet" in words
        assert "tcuq fleet judge" in words
        assert get(f"{address}/group?firmware=1.8.0").status == 200


def test_a_database_that_is_away_is_said_and_waited_for() -> None:
    """503 with a sentence; alive but not ready; metrics say so."""
    with live(f"postgresql://tcuq@127.0.0.1:{free_port()}/fleet") as address:
        answer = get(address)
        assert answer.status == 503
        assert "does not answer" in text_of(answer.text)
        assert json.loads(get(f"{address}/api/fleet").text)["detail"]
        assert get(f"{address}/healthz").status == 200
        assert get(f"{address}/readyz").status == 503
        assert "tcuq_fleet_database_up 0.0" in get(f"{address}/metrics").text


def test_only_a_trusted_proxy_names_users(seeded: str) -> None:
    """No header, an empty or doubled one, or another's word: 401; health stays open."""
    header = "X-Forwarded-User"
    with live(seeded, header) as address:
        assert get(address).status == 401
        assert get(address, {header: ""}).status == 401
        assert get(address, {header: "x" * 300}).status == 401
        assert get(address, {"X-Forwarded-For": "127.0.0.1"}).status == 401
        assert get(f"{address}/api/suspects").status == 401
        assert get(f"{address}/static/fleet.css").status == 401
        seen = get(address, {header: "ada <b>"})
        assert seen.status == 200
        assert "ada &lt;b&gt;" in seen.text
        assert get(f"{address}/healthz").status == get(f"{address}/metrics").status == 200
    with live(seeded, header, "192.0.2.7") as address:
        assert get(address, {header: "ada"}).status == 401
        assert get(address, {header: "ada", "X-Forwarded-For": "192.0.2.7"}).status == 401
        assert get(f"{address}/metrics").status == 401
        assert get(f"{address}/healthz").status == 200


def test_a_name_that_points_here_is_not_this_machine(address: str) -> None:
    """A stranger's page that resolves its own name to 127.0.0.1 reads nothing."""
    assert get(address, {"Host": "evil.example"}).status == 421
    assert get(address, {"Host": "localhost:8050"}).status == 200


def test_other_machines_need_a_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    """Refused before anything listens, with what to add."""
    with pytest.raises(InputError, match="add --user-header"):
        serve("dbname=x", host="0.0.0.0")  # noqa: S104 - refused
    with pytest.raises(InputError, match="trusted proxy must be"):
        create_app("dbname=x", "X-User", ["proxy.example"])
    assert main(["fleet", "serve", "--database", "dbname=x", "--host", "::"]) == 1
    assert "host must be this machine alone" in capsys.readouterr().err
    assert main(["fleet", "serve", "--database", "dbname=x", "--port", "0"]) == 1
