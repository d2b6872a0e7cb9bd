# SPDX-License-Identifier: Apache-2.0
"""The interface of a store: PostgreSQL and a folder of files give the same answers."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.load import stored_part
from fleet.tests.fixtures.records import history, records_of, send, write_folder
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import running_worker, wait_until_connected
from tcuq.telemetry import COUNTERS, Reason, sealed
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.judge.judge import judge
from tcuq_fleet.judge.rules import Rules
from tcuq_fleet.mqtt import BrokerAddress, Message
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.report.summary import report
from tcuq_fleet.servers import Broker
from tcuq_fleet.store.batch import Batch
from tcuq_fleet.store.claims import OPEN
from tcuq_fleet.store.folder import FolderStore
from tcuq_fleet.store.interface import RecordStore, open_store
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import records_topic

Open = Callable[[], RecordStore]


@pytest.fixture(params=["postgresql", "folder"])
def open_again(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens the same store again; each kind of store in turn."""
    name = database if request.param == "postgresql" else f"folder:{tmp_path / 'records'}"
    stores: list[RecordStore] = []

    def opened() -> RecordStore:
        stores.append(open_store(name, OPEN))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def test_a_late_record_is_acknowledged_with_what_is_stored(open_again: Open) -> None:
    """A repeated or older record adds nothing, and its ack names the stored boot and sequence."""
    store = open_again()
    assert send(store, records_of([7], sequence=5)) == ([(7, 1, 5)], [])
    assert send(store, records_of([7], sequence=3)) == ([(7, 1, 5)], [])
    store.close()
    assert send(open_again(), records_of([7], sequence=5)) == ([(7, 1, 5)], [])


def test_a_record_of_another_site_is_refused(open_again: Open) -> None:
    """A device keeps the site of its first record, also after the store was opened again."""
    send(open_again(), records_of([7]))
    assert send(open_again(), records_of([7], sequence=1), "lyon") == ([], [Reason.SITE])
    assert send(open_again(), records_of([7], sequence=1)) == ([(7, 1, 1)], [])


def test_a_gateway_that_no_operator_added_is_refused(open_again: Open) -> None:
    """Its message stores nothing and gives no ack."""
    store = open_again()
    message = Message(records_topic("berlin", "gate-1").encode(), records_of([7]).tobytes(), 0)
    result = Validator().validate([message])
    batch, _ = store.put(result.parts, result.dead_letters)
    assert batch.reasons.tolist() == [Reason.GATEWAY]
    assert store.gateway("gate-1") is None
    store.probe()


def test_a_folder_holds_the_same_sums_as_the_database(store: Store, tmp_path: Path) -> None:
    """Histories with reboots, lost flash and repetitions, in random batches, give equal cohorts."""
    rng = np.random.default_rng(8)
    folder = FolderStore(tmp_path)
    database = open_store(store.connection.info.dsn, OPEN)
    for site in ("berlin", "lyon"):
        records = history(rng, 60)
        records["device"] += 1000 * (site == "lyon")
        for part in np.array_split(sealed(records), 40):
            repeated = np.concatenate([part, part[rng.random(len(part)) < 0.3]])
            assert send(folder, repeated, site) == send(database, repeated, site)
    totals = read_folder(tmp_path)
    sums = {
        (int(np.int32(np.uint32(profile))), firmware, totals.sites[site]): row.tolist()
        for (profile, firmware, site), row in zip(
            totals.cohorts.tolist(), totals.cohort_totals, strict=True
        )
    }
    columns = ", ".join(f"sum({name})::bigint" for name in COUNTERS)
    query = f"SELECT profile, firmware, name, {columns} FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"  # noqa: S608, E501 - our own names
    stored = {tuple(row[:3]): list(row[3:]) for row in store.connection.execute(query.encode())}
    assert sums == stored
    for each in (database, folder):
        each.close()


def test_a_worker_stores_into_a_folder(
    broker: Broker, broker_address: BrokerAddress, tmp_path: Path
) -> None:
    """Records of 50 devices over a real broker are acknowledged and can be read."""
    with running_worker(f"folder:{tmp_path}", broker_address) as worker:
        wait_until_connected(worker)
        with Sender(broker.port) as sender:
            sender.send(records_of(range(50)))
            wait_for(lambda: len(sender.acknowledged) == 50)
    assert len(read_folder(tmp_path).devices) == 50


def test_a_folder_counts_and_judges_as_the_store_does(tmp_path: Path, store: Store) -> None:
    """Wrapping counters, boots, cohorts, epochs, devices and groups agree with the store."""
    rng = np.random.default_rng(4)
    sites = {site: history(rng, 150) for site in ("berlin", "lyon")}
    sites["lyon"]["device"] += 1000
    for site, records in sites.items():
        write_folder(tmp_path / site, sealed(records), rng)
        for sequence in np.unique(records["sequence"] + 100 * records["boot"]):
            part = records[records["sequence"] + 100 * records["boot"] == sequence]
            store.put(Batch.of([(stored_part(part), store.site(site))]))
    fleet = read_folder(tmp_path)
    rows = store.connection.execute(
        "SELECT profile, firmware, name, sum(steps), sum(abstained), sum(alarms)"
        " FROM cohorts JOIN sites USING (site) GROUP BY 1, 2, 3"
    ).fetchall()
    summary = report(fleet, 0.1, 0.1)
    assert {
        (c["profile"], c["firmware"], c["site"], c["steps"], c["abstained"], c["alarms"])
        for c in summary["cohorts"]
    } == {("ffffffff", f"0.0.{f}", s, *map(int, sums)) for p, f, s, *sums in rows}
    judgement = judge(store.connection, Rules())
    assert judgement is not None
    assert (summary["devices"], summary["judgeable"]) == (judgement.devices, judgement.judgeable)
    assert summary["discovered"] == judgement.discovered > 0
    judged = store.connection.execute("SELECT judged_q8 FROM devices ORDER BY device").fetchall()
    assert [device["evidence_bits"] for device in summary["each"]] == [
        None if q8 is None else q8 / 256 for (q8,) in judged
    ]
    groups = store.connection.execute(
        "SELECT firmware, name, evidence, drifted, named FROM groups LEFT JOIN sites USING (site)"
    ).fetchall()
    reported = [
        (g["firmware"], g["site"], round(g["evidence_bits"], 9), g["drifted"], g["named"])
        for g in summary["groups"]
    ]
    stored = [(f if f is None else f"0.0.{f}", s, round(e, 9), d, n) for f, s, e, d, n in groups]
    assert Counter(reported) == Counter(stored)
