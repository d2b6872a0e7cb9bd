# SPDX-License-Identifier: Apache-2.0
"""Simulated devices: who they are by a plan and a seed; what they send is the device's own C.

Risks and block sums are drawn (`src/simulator/law.c`); threshold, budget, alarm, telemetry, record
and uplink are the code that is flashed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq.fleet.simulate.simulator import Simulator
from tcuq.fleet.wire import ACK, firmware_code
from tcuq.telemetry import COUNTERS, PLAIN

RECORD_BYTES = PLAIN.itemsize
HOUR_S = 3600
NEVER = 2**32 - 1  # the hour in which a device that never drifts does
PROFILES = (0x5EED0001, 0x5EED0002)
MAX_DEVICES = 50_000_000
MAX_WAIT_S = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a simulated fleet is and does.

    Parameters
    ----------
    devices, hours
        How many, and how many records each makes: one an hour.
    drift, drift_firmware, drift_from
        The share of devices that drift, or the firmware all of whose devices do; from which hour.
    reboot
        The chance that a device restarts, each hour.
    seed
        Everything follows from it but the network.
    steps, block
        Steps an hour, and steps between two bets of the alarm.
    records_per_epoch
        Hours in an epoch.
    sharing
        The chance that a cohort's draw replaces a device's own, each block: how devices depend on
        each other. Each alone keeps its law.
    sites, firmware
        Sites, and shares of firmware versions.
    slots, resend_s, longest_s
        Records a device can keep; its first and its longest wait for an acknowledgement.
    """

    devices: int
    hours: int = 24
    drift: float = 0.0
    drift_firmware: str | None = None
    drift_from: int = 0
    reboot: float = 0.0
    seed: int = 0
    steps: int = 360
    block: int = 64
    records_per_epoch: int = 24
    sharing: float = 0.3
    sites: int = 5
    firmware: tuple[tuple[str, float], ...] = (("1.6", 0.3), ("1.7", 0.5), ("1.8", 0.2))
    slots: int = 4
    resend_s: int = 30
    longest_s: int = 3600

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated, by name."""
        for name, most in (("devices", MAX_DEVICES), ("hours", 1_000_000), ("sites", 10_000),
                           ("steps", 10**6), ("block", 10**6), ("records_per_epoch", 10**6),
                           ("resend_s", self.longest_s), ("longest_s", MAX_WAIT_S)):  # fmt: skip
            value = getattr(self, name)
            if not 1 <= value <= most:
                raise InputError(f"{name} must lie in 1..{most}, got {value}")
        for name in ("drift", "reboot", "sharing"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must lie in 0..1, got {getattr(self, name)}")
        if not 2 <= self.slots <= 255:
            raise InputError(f"slots must lie in 2..255, got {self.slots}")
        named = [name for name, _ in self.firmware]
        if self.drift_firmware is not None and self.drift_firmware not in named:
            raise InputError(
                f"drift_firmware must be one of {', '.join(named)}, got {self.drift_firmware!r}"
            )


@dataclass(frozen=True, slots=True)
class Truth:
    """What the store must hold in the end, a row a device."""

    counters: NDArray[np.uint64]  # steps, abstained, denied, exceeded, alarms, over all boots
    boot: NDArray[np.uint32]
    sequence: NDArray[np.uint32]
    refused: NDArray[np.uint32]  # records that found no slot: never promised to anybody
    waiting: NDArray[np.uint8]  # records not acknowledged yet


class Devices:
    """A simulated fleet; time passes as one says.

    Examples
    --------
    >>> devices = Devices(Plan(devices=3, hours=1))
    >>> whose, records = devices.advance(3599)
    >>> records.shape
    (3, 87)
    >>> devices.stored(3599, acks_of(records))
    0
    """

    def __init__(self, plan: Plan) -> None:
        rng = np.random.default_rng(plan.seed)
        count = plan.devices
        self.plan = plan
        self.device = _distinct(rng, count)
        self.site = rng.integers(0, plan.sites, count, dtype=np.uint32)
        self.site_names = tuple(f"site-{number:02d}" for number in range(plan.sites))
        names, shares = zip(*plan.firmware, strict=True)
        codes = np.array([firmware_code(name) for name in names], np.uint32)
        kind = rng.choice(len(codes), count, p=np.divide(shares, sum(shares))).astype(np.uint32)
        self.firmware = codes[kind]
        model = rng.integers(0, len(PROFILES), count, dtype=np.uint32)
        self.profile = np.array(PROFILES, np.uint32)[model]
        self.drifts_from = np.full(count, NEVER, np.uint32)
        self.drifts_from[self._drifting(rng)] = plan.drift_from
        cohort = (self.site * np.uint32(len(codes)) + kind) * np.uint32(len(PROFILES)) + model
        self._all = Simulator(
            self.device, self.profile, self.firmware, cohort, self.drifts_from, plan.seed % 2**64,
            plan.hours, plan.steps, plan.block, plan.records_per_epoch,
            min(round(plan.reboot * 2**32), NEVER), round(plan.sharing * 2**16), plan.slots,
            plan.resend_s, plan.longest_s,
        )  # fmt: skip
        self._whose = np.empty(0, np.uint32)
        self._records = np.empty((0, RECORD_BYTES), np.uint8)

    def advance(
        self, now_s: int, most: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """What is sent until now, at most `most` (default: a record a device): whose, and bytes.

        The arrays are overwritten by the next call.
        """
        room = self.plan.devices if most is None else most
        if len(self._whose) != room:
            self._whose = np.empty(room, np.uint32)
            self._records = np.empty((room, RECORD_BYTES), np.uint8)
        sent = self._all.advance(now_s, self._whose, self._records)
        return self._whose[:sent], self._records[:sent]

    def stored(self, now_s: int, acks: NDArray[np.void]) -> int:
        """Acknowledgements for whom they concern; how many were of nothing that was sent."""
        return self._all.stored(now_s, np.ascontiguousarray(acks).view(np.uint8))

    def truth(self) -> Truth:
        """What all devices have recorded so far."""
        count = self.plan.devices
        boot, sequence, refused = (np.empty(count, np.uint32) for _ in range(3))
        told = Truth(
            np.empty((count, len(COUNTERS)), np.uint64),
            boot, sequence, refused, np.empty(count, np.uint8),
        )  # fmt: skip
        self._all.truth(told.counters, told.boot, told.sequence, told.refused, told.waiting)
        return told

    def _drifting(self, rng: np.random.Generator) -> NDArray[np.intp]:
        if self.plan.drift_firmware is not None:
            return np.flatnonzero(self.firmware == firmware_code(self.plan.drift_firmware))
        share = round(self.plan.drift * self.plan.devices)
        return rng.choice(self.plan.devices, share, replace=False)


def acks_of(records: NDArray[np.uint8]) -> NDArray[np.void]:
    """The acknowledgements of records that were all stored."""
    acks = np.hstack([records[:, 2:10], records[:, 18:26]])
    return np.ascontiguousarray(acks).view(ACK).ravel()


def _distinct(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Numbers of devices, each once: an odd multiple of a counter never meets itself."""
    start, odd = (int(value) for value in rng.integers(0, 2**64, 2, dtype=np.uint64))
    return np.uint64(start) + np.arange(count, dtype=np.uint64) * np.uint64(odd | 1)
