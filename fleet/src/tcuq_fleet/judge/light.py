# SPDX-License-Identifier: Apache-2.0
"""Light: what a device itself says of its inputs, as a colour."""

from typing import Literal

from tcuq.telemetry import AMBER

Light = Literal["red", "amber", "green"]
MEANINGS: dict[Light, str] = {
    "red": "it raised an alarm of its own since the record before",
    "amber": "much evidence of a change, not enough for an alarm of its own",
    "green": "no sign of a change",
}


def light_of(cause_code: int, new_alarms: int) -> Light:
    """Return the light of a device's last record.

    Examples
    --------
    >>> light_of(0, 0), light_of(AMBER, 0), light_of(AMBER, 1)
    ('green', 'amber', 'red')
    """
    if new_alarms > 0:
        return "red"
    return "amber" if cause_code & AMBER else "green"
