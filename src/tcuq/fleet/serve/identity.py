# SPDX-License-Identifier: Apache-2.0
"""Names: how devices, profiles and firmware are written, and how the database holds them.

The database's integers are signed and of the same bits; a page never shows one.
"""

from dataclasses import dataclass

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_SHORT = (
    "(?:6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}|0)"
)
DEVICE = "^[0-9a-f]{16}$"
PROFILE = "^[0-9a-f]{8}$"
FIRMWARE = rf"^{_BYTE}\.{_BYTE}\.{_SHORT}$"
SITE = "^[a-z0-9-]{1,32}$"


def device_text(device: int) -> str:
    """16 hexadecimal digits."""
    return f"{device % 2**64:016x}"


def device_number(text: str) -> int:
    """As the database holds it."""
    return _signed(int(text, 16), 64)


def profile_text(profile: int) -> str:
    """8 hexadecimal digits: the first of the profile's hash."""
    return f"{profile % 2**32:08x}"


def profile_number(text: str) -> int:
    """As the database holds it."""
    return _signed(int(text, 16), 32)


def firmware_text(firmware: int) -> str:
    """Major, minor and patch, of 8, 8 and 16 bits."""
    bits = firmware % 2**32
    return f"{bits >> 24}.{bits >> 16 & 255}.{bits & 65535}"


def firmware_number(text: str) -> int:
    """As the database holds it."""
    major, minor, patch = (int(part) for part in text.split("."))
    return _signed(major << 24 | minor << 16 | patch, 32)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@dataclass(frozen=True, slots=True)
class Group:
    """Devices of a profile, a firmware and a site, each as a page writes it; None means any."""

    profile: str | None = None
    firmware: str | None = None
    site: str | None = None

    @classmethod
    def of(cls, profile: int | None, firmware: int | None, site: str | None) -> "Group":
        """From a row of the database."""
        return cls(
            None if profile is None else profile_text(profile),
            None if firmware is None else firmware_text(firmware),
            site,
        )

    @property
    def parts(self) -> dict[str, str]:
        """What is named, as in an address."""
        named = {"profile": self.profile, "firmware": self.firmware, "site": self.site}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def numbers(self) -> dict[str, int | str | None]:
        """As parameters of a query."""
        return {
            "profile": None if self.profile is None else profile_number(self.profile),
            "firmware": None if self.firmware is None else firmware_number(self.firmware),
            "site": self.site,
        }

    def without(self, other: "Group") -> "Group":
        """What it names beyond another."""
        return Group(**{k: v for k, v in self.parts.items() if k not in other.parts})

    def __str__(self) -> str:
        text = ", ".join(f"{name} {value}" for name, value in self.parts.items())
        return text[:1].upper() + text[1:] if text else "The fleet"


EVERYBODY = Group()
