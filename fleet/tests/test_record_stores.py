# SPDX-License-Identifier: Apache-2.0
"""The interface of a store: PostgreSQL and a folder of files give the same answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from fleet.tests.fixtures.records import Array, history, records_of
from fleet.tests.fixtures.sender import Sender, wait_for
from fleet.tests.fixtures.servers import running_worker, wait_until_connected
from tcuq.errors import InputError
from tcuq.telemetry import COUNTERS, Reason, sealed
from tcuq_fleet.ingest.validation import Validator
from tcuq_fleet.mqtt import BrokerAddress, Message
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.servers import Broker
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.folder import FolderStore
from tcuq_fleet.store.interface import RecordStore, open_store
from tcuq_fleet.store.store import Store
from tcuq_fleet.wire import record_topic, records_topic

Open = Callable[[], RecordStore]


@pytest.fixture(params=["postgresql", "folder"])
def open_again(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens the same store again; each kind of store in turn."""
    name = database if request.param == "postgresql" else f"folder:{tmp_path / 'records'}"
    stores: list[RecordStore] = []

    def opened() -> RecordStore:
        stores.append(open_store(name, Claims()))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()


def send(
    store: RecordStore, records: Array, site: str = "berlin"
) -> tuple[list[tuple[int, int, int]], list[Reason]]:
    """Put single records of devices; return the acks that may be sent, and the refusals."""
    messages = [
        Message(record_topic(site, int(record["device"])).encode(), record.tobytes(), 0)
        for record in records
    ]
    result = Validator(quota=60_000).validate(messages)
    batch, acks = store.put(result.parts, result.dead_letters)
    fine = batch.reasons == Reason.FINE
    return acks[fine].tolist(), [Reason(int(reason)) for reason in batch.reasons[~fine]]


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
    database = open_store(store.connection.info.dsn, Claims())
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


def test_a_truncated_record_at_the_end_of_a_file_is_sent_again(tmp_path: Path) -> None:
    """After a power cut the complete records count, and the truncated one is stored anew."""
    folder = FolderStore(tmp_path)
    send(folder, records_of([7, 8]))
    folder.close()
    (file,) = tmp_path.glob("berlin/*.records")
    file.write_bytes(file.read_bytes()[:-5])
    again = FolderStore(tmp_path)
    send(again, records_of([8]))
    again.close()
    assert sorted(read_folder(tmp_path).devices["device"].tolist()) == [7, 8]


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


def test_a_folder_without_a_name_is_refused() -> None:
    """`folder:` alone would write into the working folder."""
    with pytest.raises(InputError, match="must name a folder"):
        open_store("folder:", Claims())
