# SPDX-License-Identifier: Apache-2.0
"""The verdict "changed" through the store: against a device's own past, per owner, one alarm."""

from typing import Any

import numpy as np
import pytest

from fleet.tests.fixtures.stored_fleet import StoredFleet
from tcuq.telemetry import MEANS
from tcuq_fleet.judge.judge import Judgement

CALM = np.array([1600, 10_000, 1500, 8000, 2500])  # in the record's units
SPREAD = np.array([100, 300, 60, 400, 150])


class Epochs:
    """A fleet whose devices close an epoch before each judgement; each has its own normal."""

    def __init__(self, fleet: StoredFleet) -> None:
        self.fleet = fleet
        self.rng = np.random.default_rng(6)
        self.own: dict[int, Any] = {}

    def add(self, count: int, **columns: int) -> range:
        """Add devices."""
        devices = self.fleet.add(count, **columns)
        self.own |= {device: CALM + 5 * SPREAD * self.rng.normal(size=5) for device in devices}
        return devices

    def judge(
        self, changed: range = range(0), season: float = 0, of: range | None = None
    ) -> Judgement:
        """Close an epoch of every device, in which some have changed, and judge."""
        rows = []
        for device in self.own if of is None else of:
            own = self.own[device]
            means = own + SPREAD * self.rng.normal(size=5) + season * SPREAD
            means = means + (20 * SPREAD if device in changed else 0)
            rows.append((device, *np.clip(means, 0, 32_000).astype(int).tolist()))
        names = list(MEANS)
        columns = [list(column) for column in zip(*rows, strict=True)]
        self.fleet.connection.execute(
            "UPDATE devices AS d SET epoch = epoch + 1, closed_epoch = closed_epoch + 1, "  # noqa: S608
            + ", ".join(f"{name} = new.{name}" for name in names)
            + " FROM unnest(%s::bigint[]"
            + ", %s::smallint[]" * len(names)
            + f") AS new (device, {', '.join(names)}) WHERE d.device = new.device",
            columns,
        )
        return self.fleet.judge()

    def changed(self) -> list[int]:
        """Return the devices listed as changed."""
        return [row[0] for row in self.fleet.rows("SELECT device FROM changed ORDER BY device")]

    def alarms(self) -> list[tuple[Any, ...]]:
        """Return state and subject of every alarm of a change."""
        return [row[1:] for row in self.fleet.alarms() if row[0] == "changed"]


@pytest.fixture
def epochs(fleet: StoredFleet) -> Epochs:
    """Return a fleet without devices."""
    return Epochs(fleet)


def learn(epochs: Epochs, weight: int = 1) -> None:
    """Close calm epochs, and let each of their scores stand for so many."""
    for _ in range(7):
        assert epochs.judge().changed == 0
    epochs.fleet.connection.execute("UPDATE change_reference SET scores = %s * scores", [weight])


def test_a_changed_device_pages_and_one_that_always_differed_does_not(epochs: Epochs) -> None:
    """A device is compared with its own past; only a real change opens an alarm, and once."""
    epochs.add(198)
    (odd,) = epochs.add(1)
    epochs.own[odd] = CALM + 40 * SPREAD
    bad = epochs.add(1)
    learn(epochs, 20)
    judgement = epochs.judge(bad)
    assert (judgement.compared, judgement.changed) == (200, 1)
    assert epochs.alarms() == [("open", bad[0], None, None, None)]
    assert epochs.fleet.judge().changed == 1
    assert len(epochs.alarms()) == 1


def test_a_change_stays_until_the_device_is_as_before(epochs: Epochs) -> None:
    """The past does not learn the fault: the alarm escalates, and closes after two calm epochs."""
    epochs.add(199)
    bad = epochs.add(1)
    learn(epochs, 20)
    states = []
    for changed in (bad, bad, bad, bad, bad, range(0), range(0)):
        epochs.judge(changed)
        states.append(epochs.alarms()[0][0])
    assert states == ["open", "open", *["escalated"] * 4, "closed"]


def test_first_epochs_and_few_devices_are_never_changed(epochs: Epochs) -> None:
    """Without three past epochs, or calm peers to rank among, no device is tested."""
    epochs.add(150)
    learn(epochs)
    new = epochs.add(5)
    few = epochs.add(30, profile=2)
    for _ in range(2):
        judgement = epochs.judge(range(new[0], few[-1] + 1))
        assert (judgement.compared, judgement.changed) == (150, 0)


def test_a_season_that_all_devices_share_is_no_change(epochs: Epochs) -> None:
    """What happens to all peers in the same epoch cancels; a fault at the same time is found."""
    epochs.add(195)
    bad = epochs.add(5)
    learn(epochs, 20)
    assert epochs.judge(season=15).changed == 0
    assert epochs.judge(bad, season=15).changed == len(bad)


def test_half_of_a_firmware_is_one_alarm(epochs: Epochs) -> None:
    """A group of which half the devices changed stands for them."""
    epochs.add(400)
    group = epochs.add(25, firmware=9)
    learn(epochs, 20)
    assert epochs.judge(group).changed == len(group)
    assert epochs.alarms() == [("open", None, None, 9, None)]


def test_one_owners_devices_change_no_verdict_of_another(epochs: Epochs) -> None:
    """However many devices an owner invents, the other owner's changed devices are the same."""
    epochs.fleet.connection.execute("INSERT INTO owners (name) VALUES ('a'), ('b')")
    epochs.fleet.connection.execute(
        "INSERT INTO sites (name, owner) VALUES ('at a', 1), ('at b', 2)"
    )
    own = epochs.add(200, site=1)
    learn(epochs)
    epochs.judge(range(1, 13), of=own)
    before = epochs.changed()
    assert set(range(1, 13)) <= set(before)
    invented = epochs.add(20_000, site=2)
    for _ in range(5):
        epochs.judge(invented, of=invented)
    assert epochs.changed() == before
    counts = epochs.fleet.rows(
        "SELECT owner, tested, changed FROM change_counts"
        " WHERE judgement = (SELECT max(judgement) FROM judgements) ORDER BY owner"
    )
    assert counts == [(1, 200, len(before)), (2, 20_000, 0)]


def test_a_new_profile_begins_a_new_past(epochs: Epochs) -> None:
    """After a recalibration a device is not compared with epochs under the old profile."""
    epochs.add(190)
    moved = epochs.add(10)
    learn(epochs, 20)
    epochs.fleet.connection.execute(
        "UPDATE devices SET profile = 2 WHERE device = ANY(%s)", [list(moved)]
    )
    judgement = epochs.judge(moved)
    assert (judgement.compared, judgement.changed) == (190, 0)
