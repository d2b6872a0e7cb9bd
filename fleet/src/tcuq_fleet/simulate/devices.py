# SPDX-License-Identifier: Apache-2.0
"""Simulated devices: a plan and a seed define them; the real firmware code makes their records.

Risks and block sums are random (`simulator/null_distribution.c`); threshold, budget, alarm,
epoch, telemetry, snapshot, record and uplink are the C code that runs on a device.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tcuq.errors import InputError
from tcuq.telemetry import COUNTERS, PLAIN
from tcuq_fleet.simulate.options import DeviceOptions
from tcuq_fleet.simulate.simulator import Simulator
from tcuq_fleet.wire import ACK, firmware_code

RECORD_BYTES = PLAIN.itemsize
HOUR_S = 3600
NEVER = 2**32 - 1  # first hour of drift in a device that never drifts
PROFILES = (0x5EED0001, 0x5EED0002)
MAX_WAIT_S = 65535


class Plan(DeviceOptions):
    """A simulated fleet: its devices, their drift, reboots and uplinks.

    `block` steps lie between two bets of the alarm, `epoch_steps` are set in the profile (by
    default as many as 24 hours have). `sharing` is the probability, per block, that a cohort's draw
    replaces a device's own: it makes devices dependent, and the distribution of each device stays
    the same. An uplink holds `slots` records and waits from `resend_s` up to `longest_s` for an
    acknowledgement.
    """

    block: int = Field(default=64, ge=1, le=8192)
    epoch_steps: int | None = Field(default=None, ge=1, lt=2**31)
    sharing: float = Field(default=0.3, ge=0, le=1)
    firmware: tuple[tuple[str, float], ...] = (("1.6", 0.3), ("1.7", 0.5), ("1.8", 0.2))
    slots: int = Field(default=4, ge=2, le=255)
    resend_s: int = Field(default=30, ge=1)
    longest_s: int = Field(default=3600, ge=1, le=MAX_WAIT_S)

    @model_validator(mode="after")
    def _check_waits(self) -> Self:
        if self.resend_s > self.longest_s:
            raise ValueError(f"resend_s must be at most {self.longest_s}, got {self.resend_s}")
        return self


@dataclass(frozen=True, slots=True)
class Truth:
    """What the store must hold in the end, one row per device."""

    counters: NDArray[np.uint64]  # sums over all boots, in the order of COUNTERS
    boot: NDArray[np.uint32]
    sequence: NDArray[np.uint32]
    refused: NDArray[np.uint32]  # records for which no slot was free; they are never sent
    waiting: NDArray[np.uint8]  # records not acknowledged yet


class Devices:
    """A simulated fleet; the caller advances its clock.

    Examples
    --------
    >>> devices = Devices(Plan(devices=3, hours=1))
    >>> senders, records = devices.advance(3599)
    >>> records.shape
    (3, 97)
    >>> devices.acknowledge(3599, acks_of(records))
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
        self._simulator = Simulator(
            self.device, self.profile, self.firmware, cohort, self.drifts_from, plan.seed % 2**64,
            plan.hours, plan.on_hours, plan.steps, plan.block, plan.epoch_steps or 24 * plan.steps,
            min(round(plan.reboot * 2**32), NEVER), round(plan.sharing * 2**16), plan.slots,
            plan.resend_s, plan.longest_s,
        )  # fmt: skip
        self._senders = np.empty(0, np.uint32)
        self._records = np.empty((0, RECORD_BYTES), np.uint8)

    def advance(
        self, now_s: int, limit: int | None = None
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Run devices until now; return senders' indices and the bytes of their records.

        At most `limit` records are returned, by default one per device. The next call overwrites
        the arrays.
        """
        capacity = self.plan.devices if limit is None else limit
        if len(self._senders) != capacity:
            self._senders = np.empty(capacity, np.uint32)
            self._records = np.empty((capacity, RECORD_BYTES), np.uint8)
        sent = self._simulator.advance(now_s, self._senders, self._records)
        return self._senders[:sent], self._records[:sent]

    def acknowledge(self, now_s: int, acks: NDArray[np.void]) -> int:
        """Pass acknowledgements to their devices; return how many match no sent record."""
        return self._simulator.acknowledge(now_s, np.ascontiguousarray(acks).view(np.uint8))

    def truth(self) -> Truth:
        """Return every device's counters, last record and uplink state so far."""
        count = self.plan.devices
        boot, sequence, refused = (np.empty(count, np.uint32) for _ in range(3))
        truth = Truth(
            np.empty((count, len(COUNTERS)), np.uint64),
            boot, sequence, refused, np.empty(count, np.uint8),
        )  # fmt: skip
        self._simulator.truth(
            truth.counters, truth.boot, truth.sequence, truth.refused, truth.waiting
        )
        return truth

    def _drifting(self, rng: np.random.Generator) -> NDArray[np.intp]:
        versions, drifting = (
            [version for version, _ in self.plan.firmware],
            self.plan.drift_firmware,
        )
        if drifting in versions:
            return np.flatnonzero(self.firmware == firmware_code(drifting))
        if drifting is not None:
            raise InputError(
                f"drift-firmware must be one of {', '.join(versions)}, got {drifting!r}"
            )
        share = round(self.plan.drift * self.plan.devices)
        return rng.choice(self.plan.devices, share, replace=False)


def acks_of(records: NDArray[np.uint8]) -> NDArray[np.void]:
    """Return the acknowledgements of stored records."""
    acks = np.hstack([records[:, 2:10], records[:, 18:26]])
    return np.ascontiguousarray(acks).view(ACK).ravel()


def _distinct(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    """Return distinct device ids: multiples of an odd number modulo 2^64 do not repeat."""
    start, odd = (int(value) for value in rng.integers(0, 2**64, 2, dtype=np.uint64))
    return np.uint64(start) + np.arange(count, dtype=np.uint64) * np.uint64(odd | 1)
