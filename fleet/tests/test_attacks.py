# SPDX-License-Identifier: Apache-2.0
"""Attacks by certified clients leave no rows and stay within the broker's memory."""

from collections.abc import Iterator

import pytest

from fleet.tests.fixtures.attacks import attacks
from fleet.tests.fixtures.attacks.scene import (
    BROKER_BYTES,
    Scene,
    run_attack,
    victim_after_attack,
)
from fleet.tests.fixtures.servers import open_folder


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    """Start a fleet to attack."""
    with open_folder() as folder, Scene(folder) as scene:
        yield scene


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        (attacks.made_up_sites, 500),
        (attacks.junk_records, 1_000),
        (attacks.junk_batches, 5_000),
        (attacks.retained_messages, 20),
        (attacks.large_messages, 50),
        (attacks.forged_boots, 50),
        (attacks.many_boots, 5_000),
    ],
)
def test_an_attack_leaves_nothing(scene: Scene, attack: attacks.Attack, count: int) -> None:
    """Honest devices are acknowledged; no row but dead letters is added; memory is bounded."""
    outcome = run_attack(scene, attack, count)
    assert outcome.p99_s < 5  # the measurement's bound is 1 s, on a machine that does nothing else
    assert outcome.other_rows == 0
    assert outcome.dead_letters <= 500
    assert outcome.broker_bytes < BROKER_BYTES


def test_the_victim_of_a_forged_boot_is_stored_on(scene: Scene) -> None:
    """Its boot and its site are what they were, and its next record is acknowledged."""
    attacks.forged_boots(scene.target, 10)
    assert victim_after_attack(scene)[:2] == (1, "away")
