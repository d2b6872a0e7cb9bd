# SPDX-License-Identifier: Apache-2.0
"""Pages over HTTP: their text, their errors, and their behaviour without data or database."""

import re

import psycopg
import pytest

from fleet.tests.fixtures.dashboard_server import get, live
from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.servers import new_database
from tcuq_fleet.servers import Postgres, free_port
from tcuq_fleet.store.migrate import migrate


def text_of(page: str) -> str:
    """Return the text of a page's main part."""
    body = page.partition("<main")[2].partition("</main>")[0]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", r"\d+ devices changed"),
        ("/", "its confidence fell"),
        ("/", r"\d+\.\d+ % of devices are unlike calibration .* tcuq recalibrate"),
        ("/", r"Firmware 1\.8\.0: \d+ of 1,250 devices unlike calibration"),
        ("/?level=0.001", r"0\.05 \d+ judged at"),
        ("/?hours=168", "Records per hour"),
        ("/", "half are found within 2 h"),
        ("/", "Firmware in use"),
        ("/", r"Profile Devices Share Silent [0-9a-f]{8} [\d,]+ \d+\.\d %"),
        ("/registry", "Devices that were enrolled"),
        ("/group?firmware=1.8.0", "The group as a whole is unlike calibration"),
        ("/group?firmware=1.8.0&site=tromso", "Firmware 1.8.0, site tromso"),
        ("/group?site=lyon", "Site lyon"),
        ("/suspects?site=tromso", "tromso"),
        ("/suspects?page=200", "The list is shorter than that"),
        (
            "/alarms?kind=group",
            "Firmware 1.8.0 is unlike calibration .* Next: If these inputs are right",
        ),
        ("/alarms?kind=changed", "changed: its confidence fell .* Next: Look at the device"),
        ("/changed", "Its confidence fell"),
        ("/alarms?kind=silent", "stopped reporting"),
    ],
)
def test_pages_say_what_they_should(address: str, path: str, pattern: str) -> None:
    """Each page contains its text."""
    response = get(address + path)
    assert response.status_code == 200
    assert re.search(pattern, text_of(response.text))


def test_a_device_is_found_by_any_notation_of_its_id(address: str, suspect: str) -> None:
    """Capitals, colons and 0x are accepted, and the page explains the evidence."""
    odd = "0x" + ":".join(suspect.upper()[i : i + 2] for i in range(0, 16, 2))
    words = text_of(get(f"{address}/search?q={odd}").text)
    assert suspect in words
    assert "as in calibration, the chance of as much were at most 1 in" in words
    assert "Its own last alarm was raised by" in words
    assert "it is unlike calibration" in words


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/device/00000000000000ff", 404, "No record of device 00000000000000ff was stored"),
        ("/search?q=tomato", 404, "16 digits of 0-9 and a-f"),
        ("/search?q=%00", 422, "q"),
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
def test_mistakes_are_explained(address: str, path: str, status: int, text: str) -> None:
    """An error page says what is wrong and links back."""
    response = get(address + path)
    assert response.status_code == status
    assert text in text_of(response.text)
    assert "To the fleet" in response.text
    assert "<script>" not in response.text


def test_every_response_has_security_headers(address: str) -> None:
    """All responses carry the content security policy; only static files are cached."""
    for path in ("/", "/nowhere", "/api/fleet", "/metrics"):
        response = get(address + path)
        assert (
            "default-src 'none'; script-src 'self'" in response.headers["content-security-policy"]
        )
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
        assert response.headers["cache-control"] == "no-store"
    style = re.search(r"/static/fleet\.css\?v=\w+", get(address).text)
    assert style is not None
    assert "immutable" in get(address + style[0]).headers["cache-control"]


def test_an_empty_database_says_what_to_do_next(postgres: Postgres) -> None:
    """Without tables, records or a judgement the page names the next command."""
    database = new_database(postgres, "empty")
    with live(database) as address:
        assert get(f"{address}/readyz").status_code == 503
        response = get(address)
        assert (response.status_code, "tcuq fleet migrate" in text_of(response.text)) == (503, True)
        with psycopg.connect(database, autocommit=True) as connection:
            migrate(connection)
        assert get(f"{address}/readyz").status_code == 200
        assert "tcuq fleet ingest" in text_of(get(address).text)
        for path in ("/suspects", "/alarms", "/api/fleet", "/api/groups", "/metrics"):
            assert get(address + path).status_code == 200
        seed(database, 500, judged=False)
        words = text_of(get(address).text)
        assert "Not judged yet" in words
        assert "tcuq fleet judge" in words
        assert get(f"{address}/group?firmware=1.8.0").status_code == 200


def test_a_database_that_is_away_gives_503() -> None:
    """Pages and API give 503; the process is alive but not ready, and metrics say so."""
    with live(f"postgresql://tcuq@127.0.0.1:{free_port()}/fleet") as address:
        response = get(address)
        assert response.status_code == 503
        assert "does not answer" in text_of(response.text)
        assert get(f"{address}/api/fleet").json()["detail"]
        assert get(f"{address}/healthz").status_code == 200
        assert get(f"{address}/readyz").status_code == 503
        assert "tcuq_fleet_database_up 0.0" in get(f"{address}/metrics").text
