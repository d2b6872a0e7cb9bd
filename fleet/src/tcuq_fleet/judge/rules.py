# SPDX-License-Identifier: Apache-2.0
"""Rules: the parameters of a judgement, which are options of `fleet judge`."""

from typing import Self

from pydantic import BaseModel, Field, model_validator

LOOSEST_LEVEL = 0.5  # at which lists of devices are stored


class Levels(BaseModel, extra="forbid"):
    """The false-discovery rate, and when a group of devices drifts."""

    level: float = Field(
        default=0.1, gt=0, le=LOOSEST_LEVEL, description="false-discovery rate to keep"
    )
    share: float = Field(
        default=0.1, ge=0, le=1, description="least share of drifting devices in a drifting group"
    )


class Rules(Levels):
    """Parameters of a judgement; durations are in seconds.

    A device that is gone is counted, but neither judged nor alerted about until it reports again.
    A group has no epochs of its own: its alarm counts evidence once per `group_interval`, which
    should be about the length of its devices' epochs.
    """

    silent_after: float = Field(
        default=10_800, gt=0, description="seconds without a record after which a device is silent"
    )
    gone_after: float = Field(
        default=30 * 86_400,
        description="seconds without a record after which a device's alarms close",
    )
    group_interval: float = Field(
        default=86_400, gt=0, description="seconds after which a group's evidence counts again"
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if not self.gone_after > self.silent_after:
            raise ValueError(
                f"gone-after must be above silent-after, got {self.gone_after:g} and"
                f" {self.silent_after:g}"
            )
        return self
