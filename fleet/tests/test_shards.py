# SPDX-License-Identifier: Apache-2.0
"""Several databases give the answers of one: stored, judged, shown, lost, and resharded."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import psycopg
import pytest

from fleet.tests.fixtures.dashboard_server import get, live, post
from fleet.tests.fixtures.records import history, records_of, send
from fleet.tests.fixtures.seed import seed
from fleet.tests.fixtures.sender import wait_for
from fleet.tests.fixtures.servers import new_database
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq.telemetry import COUNTERS, Reason, sealed
from tcuq_fleet.errors import FleetError
from tcuq_fleet.judge.judge import Judgement, judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.servers import Postgres
from tcuq_fleet.store.claims import OPEN
from tcuq_fleet.store.interface import RecordStore, open_store
from tcuq_fleet.store.places import HASH, place_of
from tcuq_fleet.store.registry import Enrolment
from tcuq_fleet.store.reshard import Split, reshard
from tcuq_fleet.store.sharded_registry import ShardedRegistry

NewDatabases = Callable[[int], list[str]]


@pytest.fixture
def new_databases(postgres: Postgres, migrated: str) -> NewDatabases:
    """Return a function that creates so many databases, each with its place."""

    def create(count: int) -> list[str]:
        urls = [new_database(postgres, f"shard_{at}", migrated) for at in range(count)]
        words = [word for url in urls for word in ("--database", url)]
        assert main(["fleet", "migrate", *words]) == 0
        return urls

    return create


@pytest.fixture
def opened() -> Iterator[Callable[[Sequence[str]], RecordStore]]:
    """Return a function that opens a store and closes it after the test."""
    with ExitStack() as stack:

        def open_all(databases: Sequence[str]) -> RecordStore:
            store = open_store(databases, OPEN)
            stack.callback(store.close)
            return store

        yield open_all


def rows(databases: Sequence[str], query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows of all databases, sorted."""
    result = []
    for url in databases:
        with psycopg.connect(url) as connection:
            result += connection.execute(query.encode()).fetchall()
    return sorted(result, key=repr)


def judged(databases: Sequence[str]) -> Judgement:
    """Judge the fleet of these databases."""
    with ExitStack() as stack:
        connections = [
            stack.enter_context(psycopg.connect(url, autocommit=True)) for url in databases
        ]
        judgement = judge(connections, Rules())
    assert judgement is not None
    return judgement


def test_a_device_has_one_place_that_sql_knows_as_well(database: str) -> None:
    """Ids in a row, of one maker or at random spread evenly, and doubling moves half of them."""
    for ids in (np.arange(50_000), (0xA4CF12 << 24) + np.arange(50_000), np.arange(50_000) << 44):
        devices = ids.astype(np.uint64)
        places = place_of(devices, 8)
        assert np.bincount(places).tolist() == pytest.approx([6250] * 8, rel=0.02)
        assert (place_of(devices, 4) == places % 4).all()
    some = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64).astype(np.uint64)
    with psycopg.connect(database) as connection:
        query = f"SELECT {HASH} & 7 FROM unnest(%s::bigint[]) AS named (device)"  # noqa: S608
        stored = connection.execute(query.encode(), [some.view(np.int64).tolist()]).fetchall()
    assert [place for (place,) in stored] == place_of(some, 8).tolist()


def test_several_databases_store_what_one_does(
    database: str, new_databases: NewDatabases, opened: Callable[[Sequence[str]], RecordStore]
) -> None:
    """Acknowledgements, refusals, sites' numbers and sums are the same."""
    rng, four = np.random.default_rng(3), new_databases(4)
    stores = [opened([database]), opened(four)]
    for site in ("berlin", "lyon"):
        records = history(rng, 60)
        records["device"] += 1000 * (site == "lyon")
        for part in np.array_split(sealed(records), 20):
            one, several = (send(store, part, site) for store in stores)
            assert (sorted(one[0]), sorted(one[1])) == (sorted(several[0]), sorted(several[1]))
    assert send(stores[1], records_of([1, 2, 3], boot=9), "lyon") == ([], 3 * [Reason.SITE])
    columns = ", ".join(f"sum({name})::bigint" for name in COUNTERS)
    query = f"SELECT profile, firmware, site, {columns} FROM cohorts GROUP BY 1, 2, 3"  # noqa: S608
    sums: dict[tuple[int, ...], list[int]] = {}
    for row in rows(four, query):
        before = sums.get(row[:3], [0] * len(COUNTERS))
        sums[row[:3]] = [a + b for a, b in zip(before, row[3:], strict=True)]
    assert [(*key, *values) for key, values in sorted(sums.items())] == rows([database], query)
    sites = rows([database], "SELECT site, name FROM sites")
    assert rows(four[:1], "SELECT site, name FROM sites") == sites
    assert set(rows(four, "SELECT site, name FROM sites")) == set(sites)


def test_while_a_database_is_away_the_others_store(
    new_databases: NewDatabases, opened: Callable[[Sequence[str]], RecordStore]
) -> None:
    """Its devices' records are refused to be sent again, also while it is the first one."""
    two = new_databases(2)
    devices = np.arange(1, 41, dtype=np.uint64)
    places = place_of(devices, 2)
    for away in (0, 1):
        urls = [url.replace("shard_", "none_") if at == away else url for at, url in enumerate(two)]
        acks, reasons = send(opened(urls), records_of(devices.tolist(), sequence=away))
        present = devices[places != away].tolist()
        expected = present if away else []  # the first one is away: nobody numbers a new site
        assert [device for device, _, _ in acks] == expected
        waiting = [Reason.DATABASE] * int((places == away).sum())
        assert sorted(reasons) == sorted([*waiting, *(0 if away else len(present)) * [Reason.SITE]])
    acks, reasons = send(opened(two), records_of(devices.tolist(), sequence=5))
    assert (len(acks), reasons) == (40, [])


def test_a_worker_with_another_list_of_databases_stores_nothing(
    new_databases: NewDatabases, opened: Callable[[Sequence[str]], RecordStore]
) -> None:
    """A wrong order or number is refused as if the databases were away."""
    two = new_databases(2)
    for wrong in (two[::-1], two[:1]):
        with pytest.raises(FleetError):
            send(opened(wrong), records_of(range(20)))
    with pytest.raises(InputError, match="power of two"):
        open_store([*two, two[0]], OPEN)
    assert rows(two, "SELECT device FROM devices") == []


def test_an_act_on_a_device_needs_its_database_alone(new_databases: NewDatabases) -> None:
    """Sites, owners and gateways are the same in all databases, and need all of them."""
    two = new_databases(2)
    devices = list(range(1, 21))
    with ShardedRegistry(two) as registry:
        registry.enrol([Enrolment(device, f"site-{device % 3}", "", "acme") for device in devices])
        registry.add_gateway("gate-1", ["site-1", "lyon"])
        assert [entry.device for entry in registry.list()] == [f"{n:016x}" for n in devices]
    for query in ("SELECT site, name, owner FROM sites", "SELECT * FROM gateway_sites"):
        assert rows(two[:1], query) == rows(two[1:], query) != []
    assert len(rows(two, "SELECT device FROM registry")) == 20
    places = place_of(np.array(devices, np.uint64), 2)
    with ShardedRegistry([two[0], two[1].replace("shard_", "none_")]) as registry:
        registry.retire(devices[int(np.argmin(places))])
        with pytest.raises(psycopg.OperationalError):
            registry.retire(devices[int(np.argmax(places))])
        with pytest.raises(psycopg.OperationalError):
            registry.remove_gateway("gate-1")
    assert len(rows(two, "SELECT gateway FROM gateways")) == 2


def test_a_resharding_loses_nothing_that_is_stored_meanwhile(
    new_databases: NewDatabases, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records go on being stored; an interrupted resharding is ended by the next one."""
    lists = [new_databases(1)]
    ended, sequence = threading.Event(), 0
    devices = range(1, 1001)

    def store_all() -> None:
        nonlocal sequence
        while not ended.is_set():
            unsent = set(devices)
            while unsent:
                store = open_store(lists[-1], OPEN)
                with contextlib.suppress(FleetError):
                    acks, _ = send(store, records_of(sorted(unsent), sequence=sequence))
                    unsent -= {device for device, _, _ in acks}
                store.close()
            sequence += 1

    sender = threading.Thread(target=store_all)
    sender.start()
    try:
        wait_for(lambda: sequence > 2)
        lists.append([*lists[0], new_database(postgres, "shard_new")])
        with monkeypatch.context() as broken:
            broken.setattr(Split, "empty", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                reshard(lists[0], lists[1][1:])
        with pytest.raises(FleetError, match="are being moved"):
            judged(lists[1])
        moved = place_of(np.arange(1, 1001, dtype=np.uint64), 2).sum()
        assert reshard(lists[0], lists[1][1:]).moved == moved
        end = sequence + 3
        wait_for(lambda: sequence > end)
    finally:
        ended.set()
        sender.join()
    assert judged(lists[1]).devices == 1000
    assert rows(lists[1], "SELECT sequence, count(*) FROM devices GROUP BY 1")[0][0] == sequence - 1
    steps = sum(row[0] for row in rows(lists[1], "SELECT sum(steps) FROM cohorts"))
    assert steps == 1000 * 100 * sequence


FIGURES = ("devices", "silent", "gone", "judgeable", "discovered", "cutoff_q8", "groups", "alarms")
# What every database has, and what each has of its own devices.
OF_ALL = (
    """SELECT profile, firmware, site, owner, devices, silent, judgeable, discovered,
    own_discovered, round(evidence::numeric, 6), drifted, named
    FROM groups WHERE judgement = (SELECT max(judgement) FROM judgements)""",
    "SELECT owner, evidence_q8, devices FROM evidence",
    "SELECT * FROM site_counts",
    "SELECT * FROM profile_counts",
    "SELECT * FROM firmware_accuracy",
)
OF_EACH = (
    "SELECT device, evidence_q8, owner FROM suspects",
    "SELECT device, expected_error FROM least_accurate",
    "SELECT device, evidence_q8, moved FROM changed",
    """SELECT kind::text, state::text, device, profile, firmware, site, owner, raised_epochs
    FROM alarms""",
    "SELECT device, past_epochs, score FROM changes",
    "SELECT device, boot, epoch, steps FROM epochs",
)
PAGES = (
    "/api/fleet", "/api/suspects?page=2", "/api/groups?level=0.01",
    "/api/accuracy/devices", "/api/profiles", "/api/changed", "/api/suspects?level=0.5&page=3",
)  # fmt: skip


@pytest.fixture(scope="module")
def split(postgres: Postgres) -> tuple[str, list[str]]:
    """Judge a fleet in one database, and a copy of it that was resharded into four."""
    one = new_database(postgres, "whole")
    seed(one, 3000)
    four = [new_database(postgres, "quarter_0", "whole")]
    for count in (1, 2):
        more = [new_database(postgres, f"quarter_{count + at}") for at in range(count)]
        words = [w for url in four for w in ("--database", url)] + [
            w for u in more for w in ("--to", u)
        ]
        assert main(["fleet", "reshard", *words]) == 0
        four += more
    return one, four


def test_a_judgement_over_four_databases_is_that_over_one(split: tuple[str, list[str]]) -> None:
    """Figures, groups, cut-offs, lists and alarms agree; each database has its own devices."""
    one, four = split
    whole, parts = judged([one]), judged(four)
    assert [getattr(parts, name) for name in FIGURES] == [getattr(whole, name) for name in FIGURES]
    assert whole.discovered >= 50
    for query in OF_ALL:
        for url in four:
            assert rows([url], query) == rows([one], query), query
    for query in OF_EACH:
        assert rows(four, query) == rows([one], query), query
    for at, url in enumerate(four):
        devices = np.array(rows([url], "SELECT device FROM devices"), np.int64)[:, 0]
        assert len(devices) > 600
        assert (place_of(devices.view(np.uint64), 4) == at).all()
    alarms = rows(four, "SELECT alarm FROM alarms")
    assert len(alarms) == len(set(alarms))


def test_pages_of_four_databases_are_those_of_one(split: tuple[str, list[str]]) -> None:
    """The same figures and lists; a device is muted and an alarm acknowledged where they are."""
    one, four = split
    judged([one]), judged(four)
    with live(one) as whole, live(four) as parts:
        for path in PAGES:
            assert steady(get(parts + path).json()) == steady(get(whole + path).json()), path
        assert every_alarm(parts) == every_alarm(whole)
        assert "does not answer" not in get(f"{parts}/").text
        for alarm in get(f"{parts}/api/alarms").json()[:8]:
            if alarm["device"]:
                device = f"/api/devices/{alarm['device']}"
                assert steady(get(parts + device).json()) == steady(get(whole + device).json())
                assert post(f"{parts}{device}/mute?hours=2").is_success
            assert post(f"{parts}/api/alarms/{alarm['alarm']}/acknowledge").is_success
    assert len(rows(four, "SELECT alarm FROM alarms WHERE acknowledged IS NOT NULL")) == 8


def test_pages_say_which_database_is_away(split: tuple[str, list[str]], postgres: Postgres) -> None:
    """The other databases' devices are shown; the lost one's are missing, and nobody judges."""
    _, four = split
    judged(four)
    lost = rows(four[2:3], "SELECT device FROM suspects")[0][0]
    other = rows(four[:1], "SELECT device FROM suspects")[0][0]
    with live(four) as address, psycopg.connect(postgres.url, autocommit=True) as server:
        whole = get(f"{address}/api/fleet").json()
        server.execute("ALTER DATABASE quarter_2 ALLOW_CONNECTIONS false")
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'quarter_2'"
        )
        try:
            fleet = get(f"{address}/api/fleet").json()
            assert fleet["databases_away"] == [3]
            assert fleet["devices"] == whole["devices"]  # as judged
            assert 0 < fleet["alarms"]["silent"] < whole["alarms"]["silent"]
            assert "Database 3 of 4 does not answer" in get(f"{address}/").text
            assert "database 3 of 4 is away" in get(f"{address}/readyz").text
            assert 'database_away{database="3"} 1.0' in get(f"{address}/metrics").text
            assert get(f"{address}/api/devices/{other % 2**64:016x}").is_success
            assert get(f"{address}/api/devices/{lost % 2**64:016x}").status_code == 503
            with pytest.raises(psycopg.OperationalError):
                judged(four)
        finally:
            server.execute("ALTER DATABASE quarter_2 ALLOW_CONNECTIONS true")


def every_alarm(address: str) -> list[str]:
    """Return all alarms; of equal silence each database has its own clock."""
    pages = [get(f"{address}/api/alarms?page={page}").json() for page in range(1, 5)]
    return sorted(repr(steady(alarm)) for page in pages for alarm in page)


def steady(value: Any) -> Any:
    """Return JSON without what differs between two judgements of the same fleet."""
    if isinstance(value, list):
        return [steady(each) for each in value]
    if isinstance(value, dict):
        times = {"judged", "opened", "alarm", "acknowledged", "acknowledged_by"}
        return {
            name: steady(each)
            for name, each in value.items()
            if name not in times and not (name == "changed" and isinstance(each, str))
        }
    return round(value, 2) if isinstance(value, float) else value
