# SPDX-License-Identifier: Apache-2.0
"""Identifiers of devices, profiles, firmware and sites: their text, and the database's numbers.

The database stores them as signed integers of the same bits; a page never shows those.
"""

from dataclasses import dataclass

from tcuq_fleet.wire import NAME, firmware_code, to_signed

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_SHORT = (
    "(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}|0)"
)
DEVICE = "^[0-9a-f]{16}$"
PROFILE = "^[0-9a-f]{8}$"
FIRMWARE = rf"^{_BYTE}\.{_BYTE}\.{_SHORT}$"
SITE = f"^{NAME}$"


def device_number(text: str) -> int:
    """Return the database's number of a device."""
    return to_signed(int(text, 16), 64)


@dataclass(frozen=True, slots=True)
class Group:
    """Devices of a profile, a firmware and a site, each as text; None means any."""

    profile: str | None = None
    firmware: str | None = None
    site: str | None = None

    @property
    def parts(self) -> dict[str, str]:
        """The parts that are not None, as in a URL's query."""
        values = {"profile": self.profile, "firmware": self.firmware, "site": self.site}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def numbers(self) -> dict[str, int | str | None]:
        """The group as parameters of an SQL query."""
        return {
            "profile": None if self.profile is None else to_signed(int(self.profile, 16), 32),
            "firmware": (
                None if self.firmware is None else to_signed(firmware_code(self.firmware), 32)
            ),
            "site": self.site,
        }

    def without(self, other: "Group") -> "Group":
        """Return the group without the parts that another group names."""
        return Group(**{k: v for k, v in self.parts.items() if k not in other.parts})

    def __str__(self) -> str:
        text = ", ".join(f"{name} {value}" for name, value in self.parts.items())
        return text[:1].upper() + text[1:] if text else "The fleet"


ALL_DEVICES = Group()
