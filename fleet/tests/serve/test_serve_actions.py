# SPDX-License-Identifier: Apache-2.0
"""Acts of operators: recorded with who, refused from other sites, and seen by the judge."""

from collections.abc import Iterator

import pytest

from fleet.tests.fixtures.dashboard_server import get, live, post
from fleet.tests.fixtures.servers import read_only
from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq_fleet.serve.viewer import ProxyHeaders
from tcuq_fleet.store.store import Store

OPERATOR = {"X-User": "ada", "X-Groups": "operators"}


@pytest.fixture
def fleet(fleet: StoredFleet, store: Store) -> StoredFleet:
    """Store a fleet with one drifting device."""
    fleet.add(100, site=store.site("berlin"))
    fleet.add(1, bits=40)
    fleet.judge()
    return fleet


@pytest.fixture
def address(fleet: StoredFleet, database: str) -> Iterator[str]:
    """Serve that fleet behind a proxy."""
    assert fleet.alarms()
    with live(database, ProxyHeaders("X-User", "X-Groups")) as url:
        yield url


DEVICE = f"{101:016x}"


def same_origin(address: str) -> dict[str, str]:
    """Return the headers of a form on the dashboard's own page."""
    return OPERATOR | {"Origin": address}


def test_an_alarm_is_acknowledged_on_the_page(address: str, fleet: StoredFleet) -> None:
    """The form's button is on the page; who pressed it and when is recorded and shown."""
    assert 'action="/alarm/1/acknowledge"' in get(f"{address}/alarms", OPERATOR).text
    response = post(f"{address}/alarm/1/acknowledge", same_origin(address))
    assert response.status_code == 200
    assert "acknowledged by ada just now" in response.text
    assert "/alarm/1/acknowledge" not in response.text
    assert fleet.rows("SELECT acknowledged_by FROM alarms") == [("ada",)]
    assert post(f"{address}/alarm/99/acknowledge", same_origin(address)).status_code == 404


def test_a_device_is_muted_and_retired_on_its_page(address: str, fleet: StoredFleet) -> None:
    """A mute has an end and can be ended; a retired device is judged no more."""
    page = post(f"{address}/device/{DEVICE}/mute?hours=24", same_origin(address)).text
    assert "muted until" in page
    muted = "SELECT muted_until > now() + interval '23 h', changed_by FROM registry"
    assert fleet.rows(muted) == [(True, "ada")]
    assert "End the mute" in page
    page = post(f"{address}/device/{DEVICE}/mute?hours=0", same_origin(address)).text
    assert "muted until" not in page
    page = post(f"{address}/device/{DEVICE}/retire", same_origin(address)).text
    assert "Retired by ada" in page
    assert fleet.judge().devices == 100
    assert fleet.alarms()[0][1] == "closed"


def test_a_quarantined_boot_is_shown_and_released(address: str, fleet: StoredFleet) -> None:
    """The device's page and the registry show the record; release accepts its boot."""
    fleet.connection.execute(
        "INSERT INTO quarantine (device, site, boot, record) VALUES (101, 1, 99999, '')"
    )
    assert "99,999" in get(f"{address}/registry", OPERATOR).text
    assert "record in quarantine" in get(f"{address}/device/{DEVICE}", OPERATOR).text
    (record,) = get(f"{address}/api/quarantine", OPERATOR).json()
    assert (record["device"], record["boot"], record["stored_boot"]) == (DEVICE, 99999, 1)
    page = post(f"{address}/device/{DEVICE}/release", same_origin(address)).text
    assert "record in quarantine" not in page
    assert fleet.rows("SELECT boot_released, changed_by FROM registry") == [(99999, "ada")]
    assert post(f"{address}/device/{DEVICE}/release", same_origin(address)).status_code == 409


def test_the_api_acts_with_a_note(address: str, fleet: StoredFleet) -> None:
    """A client that is no browser may act; its note is kept and shown."""
    url = f"{address}/api/devices/{DEVICE}/retire"
    headers = OPERATOR | {"Content-Type": "application/json"}
    response = post(url, headers, b'{"note": "scrapped"}')
    assert response.json() == {"subject": DEVICE, "act": "retire", "by": "ada"}
    assert "scrapped (ada)" in get(f"{address}/device/{DEVICE}", OPERATOR).text
    assert post(f"{address}/api/devices/{1000:016x}/retire", OPERATOR).status_code == 404
    (alarm,) = get(f"{address}/api/alarms", OPERATOR).json()
    assert (alarm["device"], alarm["severity"], alarm["site"]) == (DEVICE, "ticket", "berlin")
    assert post(f"{address}/api/alarms/1/acknowledge", OPERATOR).status_code == 200
    assert fleet.rows("SELECT note FROM registry") == [("scrapped",)]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "https://evil.example"},
    ],
)
def test_another_sites_page_cannot_act(
    address: str, fleet: StoredFleet, headers: dict[str, str]
) -> None:
    """A request that a foreign page causes (CSRF) is refused, by form and by API."""
    for path in (f"/device/{DEVICE}/retire", f"/api/devices/{DEVICE}/retire"):
        response = post(address + path, OPERATOR | headers)
        assert response.status_code == 403
        assert "another site" in response.text
    assert (
        post(f"{address}/device/{DEVICE}/retire", OPERATOR).status_code == 403
    )  # a form without both
    assert fleet.rows("SELECT * FROM registry") == []


def test_a_large_body_is_refused_unread(address: str, fleet: StoredFleet) -> None:
    """A note has a limit, and a body of megabytes is not read."""
    url = f"{address}/api/devices/{DEVICE}/retire"
    headers = OPERATOR | {"Content-Type": "application/json"}
    assert post(url, headers, b'{"note": "' + b"x" * 501 + b'"}').status_code == 422
    assert post(url, headers, b'{"note": "' + b"x" * 20_000 + b'"}').status_code == 413
    assert fleet.rows("SELECT * FROM registry") == []


def test_a_name_stands_beside_the_id_and_is_found(address: str, fleet: StoredFleet) -> None:
    """Lists show the registry's name, and the search finds it."""
    fleet.connection.execute("INSERT INTO registry (device, name) VALUES (101, 'Pump 7')")
    for path in ("/suspects", "/alarms", "/registry", "/search?q=pump+7"):
        page = get(address + path, OPERATOR).text
        assert "Pump 7" in page
        assert DEVICE in page


def test_a_device_without_evidence_is_not_drawn_as_drifting_or_fine(
    address: str, fleet: StoredFleet
) -> None:
    """An untested device says so, on its page and on the fleet's."""
    fleet.connection.execute("UPDATE devices SET mixed = true")
    fleet.judge()
    page = get(f"{address}/device/{DEVICE}", OPERATOR).text
    assert "not tested yet" in page
    assert "no drift found" not in page
    assert "no device tested yet" in get(address, OPERATOR).text


def test_an_act_on_a_read_only_database_gives_503(address: str, database: str) -> None:
    """The response says why in one line."""
    with read_only(database) as (_, repair):
        response = post(f"{address}/api/alarms/1/acknowledge", OPERATOR)
        repair()
    assert response.status_code == 503
    assert "read-only" in response.text
