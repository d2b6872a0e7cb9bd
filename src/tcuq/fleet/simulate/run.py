# SPDX-License-Identifier: Apache-2.0
"""A simulated fleet's records: by themselves for measurements, or through a broker."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq._atomic import written_whole
from tcuq._progress import Progress
from tcuq.errors import FleetError, InputError
from tcuq.fleet.mqtt import Place
from tcuq.fleet.simulate.devices import HOUR_S, MAX_WAIT_S, Devices, acks_of
from tcuq.fleet.simulate.radio import Radio
from tcuq.fleet.wire import MAX_RECORDS, STORED_FILTER, record_topic, records_topic, stored_filter
from tcuq.telemetry import COUNTERS

MOST_AT_ONCE = 5_000  # records between two looks at acknowledgements
REST_S = 0.005
GATHER_S = 0.2  # for a gateway's batches
LOOK_S = 0.25  # between two looks at whether anything still waits
PATIENCE_S = 10.0  # for the first connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How simulated devices reach a broker, and how fast their hours pass.

    Parameters
    ----------
    broker, connections
        Where, and over how many connections.
    gateway, batch
        A gateway's name, if records go through one, and records in one of its messages.
    loss, duplication
        The chance of either, a message, in each direction.
    hour_s
        Seconds that a simulated hour takes.
    resend_s, longest_s
        A device's first and longest wait for an acknowledgement, in real seconds.
    drain_s
        How long, after the last hour, to wait for the last acknowledgement.
    """

    broker: Place
    connections: int = 4
    gateway: str | None = None
    batch: int = 200
    loss: float = 0.0
    duplication: float = 0.0
    hour_s: float = 60.0
    resend_s: float = 5.0
    longest_s: float = 30.0
    drain_s: float = 300.0

    def __post_init__(self) -> None:
        """Refuse what cannot be, by name."""
        for name in ("loss", "duplication"):
            if not 0 <= getattr(self, name) < 1:
                raise InputError(f"{name} must lie in [0, 1), got {getattr(self, name)}")
        for name, most in (("connections", 1000), ("batch", MAX_RECORDS)):
            if not 1 <= getattr(self, name) <= most:
                raise InputError(f"{name} must lie in 1..{most}, got {getattr(self, name)}")
        for name in ("hour_s", "resend_s", "longest_s", "drain_s"):
            if not 0 < getattr(self, name) <= 1e6:
                raise InputError(
                    f"{name} must lie above 0 and up to 1e6, got {getattr(self, name)}"
                )

    def simulated_s(self, seconds: float) -> int:
        """Real seconds as a device's, within what an uplink can wait."""
        return min(max(round(seconds * HOUR_S / self.hour_s), 1), MAX_WAIT_S)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a simulation ended."""

    sent: int  # records, each time they were sent
    waiting: int  # devices with a record that was never acknowledged
    refused: int  # records that found no slot
    seconds: float


def simulate_records(devices: Devices) -> Iterator[NDArray[np.uint8]]:
    """The records of each hour, a row a device in the devices' order, over a perfect network.

    Examples
    --------
    >>> from tcuq.fleet.simulate.devices import Plan
    >>> [hour.shape for hour in simulate_records(Devices(Plan(devices=5, hours=2)))]
    [(5, 87), (5, 87)]
    """
    for hour in range(devices.plan.hours):
        end_s = (hour + 1) * HOUR_S - 1
        _, records = devices.advance(end_s)
        devices.stored(end_s, acks_of(records))
        yield records.copy()


def simulate(devices: Devices, wire: Wire, stop: Event) -> Outcome:
    """Let a fleet live and send through a broker, until all is acknowledged or `stop` is set."""
    link = Radio(
        wire.broker, wire.connections,
        heard_on=stored_filter(wire.gateway) if wire.gateway else STORED_FILTER,
        loss=wire.loss, duplication=wire.duplication,
        rng=np.random.default_rng([devices.plan.seed, 1]),
    )  # fmt: skip
    with link:
        _wait_for(link, stop)
        started = time.monotonic()
        sent = _live(devices, wire, link, stop)
    told = devices.truth()
    waiting, refused = int((told.waiting > 0).sum()), int(told.refused.sum())
    return Outcome(sent, waiting, refused, time.monotonic() - started)


def _live(devices: Devices, wire: Wire, link: Radio, stop: Event) -> int:
    """All hours, then until nothing waits; how many records were sent."""
    plan, started, sent, shown = devices.plan, time.monotonic(), 0, 0
    last_s = look_s = plan.hours * wire.hour_s
    envelopes = Envelopes(devices, wire)
    with Progress("device-hours", plan.devices * plan.hours) as progress:
        while not stop.is_set():
            passed_s = time.monotonic() - started
            now_s = int(passed_s / wire.hour_s * HOUR_S)
            devices.stored(now_s, link.heard())
            whose, records = devices.advance(now_s, MOST_AT_ONCE)
            link.send(envelopes.filled(passed_s, whose, records))
            sent += len(whose)
            lived = int(min(passed_s, last_s) / wire.hour_s * plan.devices)
            progress.advance(lived - shown)
            shown = lived
            if passed_s > last_s + wire.drain_s:
                break
            if passed_s > look_s:
                look_s = passed_s + LOOK_S
                if not devices.truth().waiting.any():
                    break
            if len(whose) < MOST_AT_ONCE:
                stop.wait(REST_S)
    return sent


class Envelopes:
    """Records as what is published: one a message, or batches that a gateway gathers, by site."""

    def __init__(self, devices: Devices, wire: Wire) -> None:
        self._devices, self._wire = devices, wire
        self._gathered: list[tuple[NDArray[np.uint32], NDArray[np.uint8]]] = []
        self._since_s = 0.0

    def filled(
        self, now_s: float, whose: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        """Topics and payloads that go out now."""
        if self._wire.gateway is None:
            return self._single(whose, records)
        if len(whose):
            self._gathered.append((self._devices.site[whose], records.copy()))
        if not self._gathered or now_s - self._since_s < GATHER_S:
            return []
        sites, rows = (np.concatenate(column) for column in zip(*self._gathered, strict=True))
        self._gathered, self._since_s = [], now_s
        return self._batches(self._wire.gateway, sites, rows)

    def _single(
        self, whose: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        names, sites = self._devices.site_names, self._devices.site[whose].tolist()
        return [
            (record_topic(names[site], device), record.tobytes())
            for site, device, record in zip(
                sites, self._devices.device[whose].tolist(), records, strict=True
            )
        ]

    def _batches(
        self, gateway: str, sites: NDArray[np.uint32], records: NDArray[np.uint8]
    ) -> list[tuple[str, bytes]]:
        made, batch = [], self._wire.batch
        for site in np.unique(sites).tolist():
            topic = records_topic(self._devices.site_names[site], gateway)
            rows = records[sites == site]
            made += [(topic, rows[at : at + batch].tobytes()) for at in range(0, len(rows), batch)]
        return made


def write_truth(devices: Devices, path: str | os.PathLike[str]) -> None:
    """What the store must hold, a row a device, with what each device is; a `.npz`."""
    told = devices.truth()
    columns: dict[str, Any] = {
        "device": devices.device, "boot": told.boot, "sequence": told.sequence,
        "waiting": told.waiting, "refused": told.refused, "site": devices.site,
        "sites": np.array(devices.site_names), "firmware": devices.firmware,
        "profile": devices.profile, "drifts_from": devices.drifts_from,
        **{name: told.counters[:, at] for at, name in enumerate(COUNTERS)},
    }  # fmt: skip
    with written_whole(path) as file:
        np.savez_compressed(file, **columns)


def _wait_for(link: Radio, stop: Event) -> None:
    """Until every connection stands; a refusal is an error that says why."""
    until = time.monotonic() + PATIENCE_S
    while not link.connected and not stop.is_set():
        if link.refused:
            raise FleetError(f"the broker closes the connection: {link.refused}")
        if time.monotonic() > until:
            raise FleetError(f"the broker has not answered for {PATIENCE_S:.0f} s")
        stop.wait(REST_S)
