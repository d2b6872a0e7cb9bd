# SPDX-License-Identifier: Apache-2.0
"""Two owners share one fleet: neither sees the other's sites, devices, counts or alarms."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import psycopg
import pytest
from fastapi.routing import APIRoute

from fleet.tests.fixtures.dashboard_server import get, live, post
from fleet.tests.fixtures.seed import SITES, TOTALS, seed
from fleet.tests.fixtures.servers import new_database
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.serve import actions, api, pages
from tcuq_fleet.serve.viewer import ProxyHeaders
from tcuq_fleet.servers import Postgres

HEADERS = ProxyHeaders("X-User", "X-Groups")
NORTH, SOUTH = SITES[:10], SITES[10:30]  # the last ten belong to nobody
# Every GET route with an example; {device} and {site} are the viewer's own or another's.
ROUTES = {
    "/": "/?level=0.5",
    "/group": "/group?site={site}",
    "/suspects": "/suspects?level=0.5",
    "/changed": "/changed",
    "/alarms": "/alarms",
    "/registry": "/registry",
    "/runbook": "/runbook",
    "/device/{device}": "/device/{device}",
    "/search": "/search?q={device}",
    "/api/fleet": "/api/fleet?level=0.5",
    "/api/groups": "/api/groups?level=0.5",
    "/api/profiles": "/api/profiles",
    "/api/suspects": "/api/suspects?level=0.5",
    "/api/changed": "/api/changed",
    "/api/accuracy/devices": "/api/accuracy/devices",
    "/api/accuracy/firmware": "/api/accuracy/firmware",
    "/api/accuracy/trend": "/api/accuracy/trend",
    "/api/alarms": "/api/alarms",
    "/api/quarantine": "/api/quarantine",
    "/api/devices/{device}": "/api/devices/{device}",
}


class Tenants(NamedTuple):
    """A served fleet, and devices with alarms by owner."""

    address: str
    database: str
    devices: dict[str, str]
    counts: dict[str, int]


@pytest.fixture(scope="module")
def tenants(postgres: Postgres) -> Iterator[Tenants]:
    """Seed and judge a fleet of two owners; some devices of each are muted or in quarantine."""
    database = new_database(postgres, "tenants")
    seed(database, 6000, judged=False, hours=24)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("INSERT INTO owners (name) VALUES ('north'), ('south')")
        for owner, names in ((1, NORTH), (2, SOUTH)):
            connection.execute(
                "UPDATE sites SET owner = %s WHERE name = ANY(%s)", [owner, list(names)]
            )
        connection.execute(
            "UPDATE changes SET owner = sites.owner FROM devices JOIN sites USING (site)"
            " WHERE devices.device = changes.device AND sites.owner IS NOT NULL"
        )
        connection.execute(
            "INSERT INTO change_reference SELECT other, profile, week, statistic, bucket, scores"
            " FROM change_reference, generate_series(1, 2) AS other"
        )
        connection.execute("DELETE FROM hours")
        connection.execute(TOTALS)
        connection.execute("UPDATE devices SET evidence = 90 WHERE abs(device) % 150 = 0")
        judge(connection, Rules())
        rows = connection.execute(
            "SELECT owners.name, max(to_hex(device)) FROM suspects JOIN owners USING (owner)"
            " GROUP BY 1"
        ).fetchall()
        for (number,) in connection.execute(
            "SELECT max(device) FROM suspects GROUP BY owner"
        ).fetchall():
            connection.execute(
                "INSERT INTO registry (device, name) VALUES (%s, 'pump ' || %s)", [number, number]
            )
            connection.execute(
                "INSERT INTO quarantine (device, site, boot, record)"
                " SELECT device, site, 4000000000, '' FROM devices WHERE device = %s",
                [number],
            )
        counted = connection.execute(
            "SELECT owners.name, count(*) FROM devices JOIN sites USING (site)"
            " JOIN owners USING (owner) GROUP BY 1"
        ).fetchall()
    with live(database, HEADERS) as address:
        devices = {name: str(device).zfill(16) for name, device in rows}
        yield Tenants(address, database, devices, dict(counted))


def as_user(*groups: str) -> dict[str, str]:
    """Return the headers of a user in these groups."""
    return {"X-User": "ada", "X-Groups": ", ".join(groups)}


def test_every_route_is_in_the_table() -> None:
    """A route that nobody thought of would not be tested below."""
    routers = (pages.router, api.router, actions.router, actions.api_router)
    routes = [route for router in routers for route in router.routes]
    paths = {
        route.path
        for route in routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ())
    }
    assert paths == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("own", "other"), [("north", "south"), ("south", "north")])
def test_no_route_shows_anothers_sites(tenants: Tenants, route: str, own: str, other: str) -> None:
    """Sites and devices of another owner and of nobody are absent; the own device is there."""
    names = {"north": NORTH, "south": SOUTH}
    path = ROUTES[route].format(device=tenants.devices[own], site=names[own][0])
    response = get(tenants.address + path, as_user(own))
    assert response.status_code == 200
    hidden = [site for site in SITES if site not in names[own]]
    assert not [site for site in hidden if re.search(rf"\b{site}\b", response.text)]
    assert tenants.devices[other] not in response.text
    total = sum(tenants.counts.values())
    assert f"{total:,} devices" not in response.text
    foreign = ROUTES[route].format(device=tenants.devices[other], site=names[other][0])
    if foreign != ROUTES[route]:
        assert get(tenants.address + foreign, as_user(own)).status_code == 404


def test_counts_are_the_owners(tenants: Tenants) -> None:
    """Devices, suspects, records and alarms of two owners add up to at most an operator's."""
    views = {
        who: get(f"{tenants.address}/api/fleet", as_user(who)).json()
        for who in ("north", "south", "operators")
    }
    for who in ("north", "south"):
        profiles = get(f"{tenants.address}/api/profiles", as_user(who)).json()
        devices = sum(profile["devices"] for profile in profiles)
        assert views[who]["devices"] == devices == tenants.counts[who]
        assert views[who]["different"] > 0
    assert views["operators"]["devices"] == 6000
    both = get(f"{tenants.address}/api/fleet", as_user("north", "south")).json()
    assert both["devices"] == views["north"]["devices"] + views["south"]["devices"]
    for hour, parts in enumerate(
        zip(views["north"]["hours"], views["south"]["hours"], strict=True)
    ):
        assert both["hours"][hour]["steps"] == sum(part["steps"] for part in parts)
    for figure in ("compared", "changed"):
        assert 0 < views["north"][figure] < views["operators"][figure]
        assert both[figure] == views["north"][figure] + views["south"][figure]
    suspects = get(f"{tenants.address}/api/suspects", as_user("north")).json()
    assert {row["site"] for row in suspects} <= set(NORTH)
    for kind, count in both["alarms"].items():
        assert count == sum(views[who]["alarms"].get(kind, 0) for who in ("north", "south"))


def test_users_without_an_owners_group_see_nothing(tenants: Tenants) -> None:
    """No group, an unknown group and a missing header give an empty fleet, not everybody's."""
    for headers in (as_user(), as_user("east"), {"X-User": "ada"}):
        fleet = get(f"{tenants.address}/api/fleet", headers).json()
        assert (fleet["devices"], fleet["different"], fleet["hours"]) == (0, 0, [])
        assert get(tenants.address, headers).status_code == 200
    double = {"X-User": "ada", "X-Groups": "x" * 9000}
    assert get(tenants.address, double).status_code == 401


def test_metrics_are_not_for_one_owner(tenants: Tenants) -> None:
    """Metrics count all devices, so a user behind the proxy needs to be an operator."""
    assert get(f"{tenants.address}/metrics", as_user("north")).status_code == 403
    assert get(f"{tenants.address}/metrics", as_user("operators")).status_code == 200
    assert get(f"{tenants.address}/metrics").status_code == 200


def test_only_operators_act(tenants: Tenants) -> None:
    """An owner's user may not mute their own device; without a groups header nobody may."""
    device = tenants.devices["north"]
    url = f"{tenants.address}/api/devices/{device}/mute?hours=1"
    assert post(url, as_user("north")).status_code == 403
    assert post(url, as_user("operators")).status_code == 200
    with live(tenants.database, ProxyHeaders("X-User")) as address:
        path = f"/api/devices/{device}/mute?hours=1"
        assert post(address + path, {"X-User": "ada"}).status_code == 403
