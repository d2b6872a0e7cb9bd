# SPDX-License-Identifier: Apache-2.0
"""The registry: sites are claimed within limits, devices keep their sites, boots may not jump."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fleet.tests.fixtures.records import add_gateway, record
from tcuq.errors import InputError
from tcuq.telemetry import Reason
from tcuq_fleet.store import dead_letters
from tcuq_fleet.store.batch import GATEWAY_ONLY, MAX_BOOTS, OWN_CERTIFICATE, SIGNATURE, Part
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.registry import Enrolment, Registry
from tcuq_fleet.store.sites import Gateway
from tcuq_fleet.store.store import Store

Array = NDArray[Any]
LAST_BOOT = 2**32 - 1


def single(row: Array, site: str, trust: int = OWN_CERTIFICATE) -> Part:
    """Return a device's own message."""
    return Part(row, [site], [f"{int(row['device'][0]):016x}"], trust)


def via_gateway(*rows: Array, site: str = "berlin") -> Part:
    """Return a message of gate-1."""
    return Part(np.concatenate(rows), site, "gate-1", GATEWAY_ONLY)


def reasons(store: Store, *parts: Part) -> list[Reason]:
    """Store parts; return for each record why it was refused, or FINE."""
    batch, _ = store.put_parts(parts)
    return [Reason(int(reason)) for reason in batch.reasons[batch.rows]]


def rows(store: Store, table: str) -> int:
    """Return the number of rows of a table."""
    row = store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(row[0]) if row else 0


def test_a_known_device_creates_no_further_sites(store: Store) -> None:
    """A device that publishes under 2,000 made-up sites is refused and leaves few dead letters."""
    names = [f"site-{number}" for number in range(2_000)]
    many = Part(np.repeat(record(7, 1, 0, 100), len(names)), names, [f"{7:016x}"] * len(names), 1)
    first = single(record(7, 1, 0, 100), "berlin")
    assert reasons(store, first) == [Reason.FINE]
    assert set(reasons(store, many)) == {Reason.SITE}
    assert rows(store, "sites") == 1
    assert rows(store, "dead_letters") <= dead_letters.MAX_PER_BATCH


def test_an_unknown_device_creates_one_site_of_many(store: Store) -> None:
    """Of several new sites in an unknown device's first batch one is created."""
    parts = [single(record(7, 1, n, 100 + n), f"site-{n}") for n in range(5)]
    assert sorted(reasons(store, *parts)) == [Reason.FINE] + [Reason.SITE] * 4
    assert rows(store, "sites") == 1


def test_sites_are_created_within_the_limits_of_the_hour_and_in_total(database: str) -> None:
    """Two workers share both limits; a site beyond them is refused without a row."""
    for claims in (Claims(sites_per_hour=3), Claims(max_sites=3)):
        with Store(database, claims) as one, Store(database, claims) as other:
            one.connection.execute("TRUNCATE sites, devices CASCADE")
            parts = [single(record(n, 1, 0, 100), f"site-{n}") for n in range(1, 6)]
            results = [reasons(one if n % 2 else other, part)[0] for n, part in enumerate(parts)]
            assert sorted(results) == [Reason.FINE] * 3 + [Reason.SITE] * 2
            assert rows(one, "sites") == rows(one, "devices") == 3


def test_claims_may_be_closed(database: str) -> None:
    """With `sites` a new site is refused; with `enrolled` also an unknown device."""
    with Store(database, Claims(claim="sites")) as store:
        store.site("berlin")
        assert reasons(store, single(record(7, 1, 0, 100), "paris")) == [Reason.SITE]
        assert reasons(store, single(record(7, 1, 0, 100), "berlin")) == [Reason.FINE]
    with Store(database, Claims(claim="enrolled")) as store:
        Registry(store.connection).enrol([Enrolment(8, "berlin", "pump")])
        assert reasons(store, single(record(9, 1, 0, 100), "berlin")) == [Reason.SITE]
        assert reasons(store, single(record(8, 1, 0, 100), "berlin")) == [Reason.FINE]
        assert reasons(store, single(record(7, 1, 1, 200), "berlin")) == [Reason.FINE]


def test_a_gateway_creates_no_devices_unless_claims_are_open(database: str) -> None:
    """Records of unknown devices leave no row by default; an enrolled or signed device is stored.

    One gateway's 20,000 invented devices moved the verdicts about other sites' devices.
    """
    add_gateway(database)
    invented = via_gateway(*(record(n, 1, 0, 100) for n in range(1000, 1100)))
    with Store(database, Claims()) as store:
        assert set(reasons(store, invented)) == {Reason.SITE}
        assert reasons(store, single(record(6, 1, 0, 100), "rome", GATEWAY_ONLY)) == [Reason.SITE]
        assert (rows(store, "devices"), rows(store, "sites")) == (0, 2)
        Registry(store.connection).enrol([Enrolment(8, "berlin", "pump")])
        assert reasons(store, via_gateway(record(8, 1, 0, 100))) == [Reason.FINE]
        signed = via_gateway(record(9, 1, 0, 100))._replace(trust=SIGNATURE)
        assert reasons(store, signed) == [Reason.FINE]
    with Store(database, Claims(claim="open")) as store:
        assert set(reasons(store, invented)) == {Reason.FINE}


def test_a_gateway_cannot_send_for_a_device_of_another_site(store: Store, database: str) -> None:
    """A forged record is refused and changes nothing, and the device's own is stored."""
    add_gateway(database)
    assert reasons(store, single(record(7, 1, 0, 100), "rome")) == [Reason.FINE]
    forged = record(7, LAST_BOOT, 0, 100)
    assert reasons(store, via_gateway(forged)) == [Reason.SITE]
    assert reasons(store, via_gateway(forged, site="rome")) == [Reason.GATEWAY]
    # Also in one batch with the device's own record, which is older than the forged one.
    honest = single(record(7, 1, 1, 200), "rome")
    assert reasons(store, via_gateway(forged), honest) == [Reason.SITE, Reason.FINE]
    assert rows(store, "quarantine") == 0
    row = store.connection.execute("SELECT boot, steps, name FROM devices JOIN sites USING (site)")
    assert row.fetchall() == [(1, 200, "rome")]


def test_a_boot_far_ahead_waits_in_quarantine_until_it_is_released(
    store: Store, database: str
) -> None:
    """It is one row however often it is sent; an operator or the device's certificate ends it."""
    add_gateway(database)
    far = record(7, 20_000, 0, 50)
    reasons(store, via_gateway(record(7, 1, 0, 100)))
    for _ in range(3):
        assert reasons(store, via_gateway(far)) == [Reason.QUARANTINE]
    cursor = store.connection.execute("SELECT device, boot, stored_boot, count FROM quarantined")
    assert cursor.fetchall() == [(7, 20_000, 1, 3)]
    assert reasons(store, via_gateway(record(7, 2, 0, 100))) == [Reason.FINE]
    registry = Registry(store.connection)
    assert registry.release(7) == 20_000
    assert reasons(store, via_gateway(far)) == [Reason.FINE]
    assert rows(store, "quarantined") == 0
    assert reasons(store, single(record(7, LAST_BOOT, 0, 50), "berlin")) == [Reason.FINE]
    with pytest.raises(InputError, match="no record in quarantine"):
        registry.release(7)


def test_retired_devices_are_not_stored_until_enrolled_again(store: Store) -> None:
    """A retired device's record is refused and not acknowledged, also a repeated one."""
    registry = Registry(store.connection)
    first = single(record(7, 1, 0, 100), "berlin")
    reasons(store, first)
    registry.retire(7, "scrapped")
    newer = single(record(7, 1, 1, 200), "berlin")
    assert reasons(store, first) == reasons(store, newer) == [Reason.RETIRED]
    assert [entry.state for entry in registry.list()] == ["retired"]
    registry.enrol([Enrolment(7, "berlin")])
    assert reasons(store, newer) == [Reason.FINE]


def test_a_moved_device_reports_from_its_new_site_only(store: Store) -> None:
    """A move changes the stored site; mute and move need a known device."""
    registry = Registry(store.connection)
    reasons(store, single(record(7, 1, 0, 100), "berlin"))
    registry.move(7, "paris")
    assert reasons(store, single(record(7, 1, 1, 200), "berlin")) == [Reason.SITE]
    assert reasons(store, single(record(7, 1, 1, 200), "paris")) == [Reason.FINE]
    registry.mute(7, datetime.now(UTC) + timedelta(days=1))
    (entry,) = registry.list("paris")
    assert (entry.device, entry.state) == (f"{7:016x}", "active")
    assert entry.muted_until is not None
    with pytest.raises(InputError, match="neither stored nor enrolled"):
        registry.move(8, "paris")
    assert rows(store, "registry") == 1


def test_few_boots_of_a_device_are_stored_per_batch(store: Store, database: str) -> None:
    """Further boots of a batch are not acknowledged."""
    add_gateway(database)
    boots = [record(7, boot, 0, 100) for boot in range(1, 1001)]
    refused = reasons(store, via_gateway(*boots))
    assert refused.count(Reason.FINE) == MAX_BOOTS
    assert refused.count(Reason.QUOTA) == 1000 - MAX_BOOTS


def test_dead_letters_stop_at_their_budget(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the hour's budget, counted over all workers, no rows are added."""
    monkeypatch.setattr(dead_letters, "MAX_PER_HOUR", 30)
    for number in range(10):
        letters = [(Reason.SIZE, "tcuq/x/y/record", b"%d %d" % (number, n)) for n in range(8)]
        store.put_parts([], letters)
    assert rows(store, "dead_letters") == 30


def test_gateways_are_added_changed_and_removed(store: Store) -> None:
    """A gateway speaks for its sites; a site of another owner cannot be given to it."""
    registry = Registry(store.connection)
    registry.add_gateway("gate-1", ["berlin", "paris"], owner="acme", token_sha256=bytes(32))
    registry.add_gateway("gate-1", ["berlin"])
    gateway = store.gateway("gate-1")
    assert gateway is not None
    assert gateway == Gateway(bytes(32), frozenset(["berlin"]))
    with pytest.raises(InputError, match="site berlin belongs to 'acme'"):
        registry.add_gateway("gate-2", ["berlin"], owner="rival")
    registry.remove_gateway("gate-1")
    with pytest.raises(InputError, match="no gateway is named 'gate-1'"):
        registry.remove_gateway("gate-1")
