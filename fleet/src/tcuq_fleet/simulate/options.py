# SPDX-License-Identifier: Apache-2.0
"""Options of a simulation: which devices there are, and how their messages travel."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field

from tcuq_fleet.wire import MAX_RECORDS


def _parse_percent(value: object) -> object:
    if not isinstance(value, str) or not value.endswith("%"):
        return value
    try:
        return float(value.removesuffix("%")) / 100
    except ValueError:
        raise ValueError(f"must be a share such as 5% or 0.05, got {value!r}") from None


Share = Annotated[float, BeforeValidator(_parse_percent), Field(ge=0, le=1)]


class DeviceOptions(BaseModel, extra="forbid", allow_inf_nan=False):
    """The simulated devices; each makes one record per hour."""

    devices: int = Field(ge=1, le=50_000_000, description="number of devices")
    hours: int = Field(default=24, ge=1, le=1_000_000, description="hours to simulate")
    on_hours: int = Field(
        default=24,
        ge=1,
        le=24,
        description="hours per day that a device has power; it boots anew each day",
    )
    drift: Share = Field(default=0.0, description="share of devices that drift, such as 5%")
    drift_firmware: str | None = Field(
        default=None, description="let all devices with this firmware drift instead"
    )
    drift_from: int = Field(default=0, ge=0, lt=2**32 - 1, description="hour at which drift begins")
    reboot: Share = Field(default=0.0, description="probability that a device reboots, per hour")
    seed: int = Field(default=0, description="seed of the random numbers, except the network's")
    steps: int = Field(default=360, ge=1, le=10**6, description="steps per device and hour")
    sites: int = Field(default=5, ge=1, le=10_000, description="number of sites")


class DeliveryOptions(BaseModel, extra="forbid", allow_inf_nan=False):
    """How messages travel, and how fast simulated time passes; durations are in real seconds."""

    connections: int = Field(default=4, ge=1, le=1000, description="connections to the broker")
    gateway: str | None = Field(
        default=None, description="send batches of records through this gateway"
    )
    batch: int = Field(
        default=200, ge=1, le=MAX_RECORDS, description="records per batch of a gateway"
    )
    loss: Share = Field(
        default=0.0, lt=1, description="share of messages to lose, in each direction"
    )
    duplication: Share = Field(
        default=0.0, lt=1, description="share of messages to deliver twice, in each direction"
    )
    hour_s: float = Field(default=60, gt=0, le=1e6, description="real seconds per simulated hour")
    drain_s: float = Field(
        default=300,
        gt=0,
        le=1e6,
        description="longest wait for acknowledgements after the last hour",
    )
