# SPDX-License-Identifier: Apache-2.0
"""Run a simulated fleet: over a perfect network for measurements, or through a broker."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.files import atomic_write
from tcuq.progress import Progress
from tcuq.telemetry import COUNTERS
from tcuq_fleet.errors import FleetError
from tcuq_fleet.simulate.devices import HOUR_S, Devices, acks_of
from tcuq_fleet.simulate.messages import MessageBuilder
from tcuq_fleet.simulate.transport import SimulatedTransport, TransportOptions

MAX_RECORDS_PER_TURN = 5_000  # sent between two reads of acknowledgements
REST_S = 0.005
DRAIN_POLL_S = 0.25  # between two checks for unacknowledged records
CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """How a simulation ended."""

    sent: int  # records, each time they were sent
    waiting: int  # devices with an unacknowledged record
    refused: int  # records for which no slot was free
    seconds: float


def simulate_records(devices: Devices) -> Iterator[NDArray[np.uint8]]:
    """Yield the records of each hour over a perfect network, one per device that is on, in order.

    Examples
    --------
    >>> from tcuq_fleet.simulate.devices import Plan
    >>> [hour.shape for hour in simulate_records(Devices(Plan(devices=5, hours=2)))]
    [(5, 97), (5, 97)]
    """
    for hour in range(devices.plan.hours):
        end_s = (hour + 1) * HOUR_S - 1
        _, records = devices.advance(end_s)
        devices.acknowledge(end_s, acks_of(records))
        yield records.copy()


def simulate(devices: Devices, options: TransportOptions, stop: Event) -> SimulationResult:
    """Run devices that send through a broker until all is acknowledged or `stop` is set."""
    rng = np.random.default_rng([devices.plan.seed, 1])
    with SimulatedTransport(options, rng) as transport:
        _wait_until_connected(transport, stop)
        started = time.monotonic()
        sent = _run(devices, options, transport, stop)
    truth = devices.truth()
    waiting, refused = int((truth.waiting > 0).sum()), int(truth.refused.sum())
    return SimulationResult(sent, waiting, refused, time.monotonic() - started)


def _run(
    devices: Devices, options: TransportOptions, transport: SimulatedTransport, stop: Event
) -> int:
    """Simulate all hours, then wait for acknowledgements; return how many records were sent."""
    plan, started, sent, shown = devices.plan, time.monotonic(), 0, 0
    last_s = poll_s = plan.hours * options.hour_s
    builder = MessageBuilder(devices, options.gateway, options.batch)
    with Progress("device-hours", plan.devices * plan.hours) as progress:
        while not stop.is_set():
            elapsed_s = time.monotonic() - started
            now_s = int(elapsed_s / options.hour_s * HOUR_S)
            devices.acknowledge(now_s, transport.receive())
            senders, records = devices.advance(now_s, MAX_RECORDS_PER_TURN)
            transport.send(builder.build(elapsed_s, senders, records))
            sent += len(senders)
            done = int(min(elapsed_s, last_s) / options.hour_s * plan.devices)
            progress.advance(done - shown)
            shown = done
            if elapsed_s > last_s + options.drain_s:
                break
            if elapsed_s > poll_s:
                poll_s = elapsed_s + DRAIN_POLL_S
                if not devices.truth().waiting.any():
                    break
            if len(senders) < MAX_RECORDS_PER_TURN:
                stop.wait(REST_S)
    return sent


def write_truth(devices: Devices, path: str | os.PathLike[str]) -> None:
    """Write an `.npz` with one row per device: what it is, and what the store must hold of it."""
    truth = devices.truth()
    columns: dict[str, Any] = {
        "device": devices.device, "boot": truth.boot, "sequence": truth.sequence,
        "waiting": truth.waiting, "refused": truth.refused, "site": devices.site,
        "sites": np.array(devices.site_names), "firmware": devices.firmware,
        "profile": devices.profile, "drifts_from": devices.drifts_from,
        **{name: truth.counters[:, at] for at, name in enumerate(COUNTERS)},
    }  # fmt: skip
    with atomic_write(path) as file:
        np.savez_compressed(file, **columns)


def _wait_until_connected(transport: SimulatedTransport, stop: Event) -> None:
    """Wait until every connection is up; raise FleetError if the broker refuses one."""
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    while not transport.connected and not stop.is_set():
        if transport.close_reason:
            raise FleetError(f"the broker closes the connection: {transport.close_reason}")
        if time.monotonic() > deadline:
            raise FleetError(f"the broker has not answered for {CONNECT_TIMEOUT_S:.0f} s")
        stop.wait(REST_S)
