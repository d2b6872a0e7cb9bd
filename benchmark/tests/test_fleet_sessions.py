# SPDX-License-Identifier: Apache-2.0
"""Fleets of healthy sessions: who calibrates, who is judged, and how discoveries are counted."""

import numpy as np

import tcuq
from tcuq_benchmark.measurements.fleet_sessions import (
    JUDGED,
    Sessions,
    as_stored,
    discovered,
    fleet,
    joined,
    set_rows,
    share_row,
)

PEOPLE = np.repeat(np.arange(15), 2)


def _stream(number: int, steps: int | None) -> tcuq.Stream:
    rng = np.random.default_rng([number, 5])
    logits = rng.normal(size=(steps or 200, 3))
    return tcuq.Stream(logits, rng.normal(size=(len(logits), 4)), kind="logits")


def test_a_fleet_judges_one_session_of_each_of_eight_people() -> None:
    """Sessions of independent noise give no false discovery, as sessions and as epochs."""
    rng = np.random.default_rng(0)
    fleets = [fleet(Sessions(PEOPLE, _stream), rng, whole=turn == 0) for turn in range(2)]
    assert all(len(set(one.people.tolist())) == JUDGED for one in fleets)
    rows = list(set_rows("noise", fleets))
    assert len(rows) == 3
    assert all(row.passed for row in rows)
    assert all(row.measured.startswith("0.0 % (0 of ") for row in rows)


def test_joined_sessions_stay_recordings_of_their_own() -> None:
    """Each session of a calibration stream starts a recording."""
    stream = joined([_stream(0, 30), _stream(1, 20)])
    assert stream.starts.tolist() == [0, 30]
    assert len(stream) == 50


def test_discoveries_are_those_of_e_bh() -> None:
    """Of eight e-values one must reach 80, two must reach 40; a fleet counts once."""
    low = np.full(8, -3.0)
    one, two, none = low.copy(), low.copy(), low.copy()
    one[2], two[:2], none[4] = 6.4, 5.4, 6.3
    assert [int(discovered(bits).sum()) for bits in (one, two, none, low)] == [1, 2, 0, 0]
    assert as_stored(one).max() == np.floor(256 * np.log2((1 + 2**6) / 2)) / 256
    people = [np.arange(8)] * 2
    assert share_row("x", people, [two, low]).measured.startswith("50.0 % (1 of 2")
