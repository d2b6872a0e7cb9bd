# SPDX-License-Identifier: Apache-2.0
"""Attacks by certified clients leave no rows and stay within the broker's memory."""

from collections.abc import Iterator

import pytest

from fleet.tests.fixtures.attacks.attacks import (
    Attack,
    forged_boots,
    junk_batches,
    junk_records,
    large_messages,
    made_up_sites,
    many_boots,
    retained_messages,
)
from fleet.tests.fixtures.attacks.run import BROKER_BYTES, run_attack, victim_after_attack
from fleet.tests.fixtures.attacks.scene import Scene
from fleet.tests.fixtures.servers import open_folder


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Start a fleet to attack."""
    with open_folder() as folder, Scene(folder) as scene:
        yield scene


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (made_up_sites, 500),
        (junk_records, 1_000),
        (junk_batches, 5_000),
        (retained_messages, 20),
        (large_messages, 50),
        (forged_boots, 50),
        (many_boots, 5_000),
    ],
)
def test_an_attack_leaves_nothing(scene: Scene, attack: Attack, count: int) -> None:
    """Honest devices are acknowledged; no row but dead letters is added; memory is bounded."""
    outcome = run_attack(scene, attack, count)
    assert outcome.p99_s < 5  # the measurement's bound is 1 s, on a machine that does nothing else
    assert outcome.other_rows == 0
    assert outcome.dead_letters <= 500
    assert outcome.broker_bytes < BROKER_BYTES


def test_the_victim_of_a_forged_boot_is_stored_on(scene: Scene) -> None:
    """Its boot and its site are what they were, and its next record is acknowledged."""
    forged_boots(scene.target, 10)
    assert victim_after_attack(scene)[:2] == (1, "away")
