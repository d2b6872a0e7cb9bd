# SPDX-License-Identifier: Apache-2.0
"""A simulated device that takes profiles over the air, with flash whose power can be cut."""

import ctypes
from dataclasses import dataclass
from pathlib import Path

import tcuq
from tcuq.export import export
from tools.firmware.toolchain import HERE, run

OK, DAMAGED, FORMAT, FORGED, OLD, INPUTS, ROOM = 0, -4, -3, -5, -6, -7, -8
ALIGNMENT, PROFILE, SELFTEST, FLASH, TRIAL, CUT = -2, -9, -10, -11, -12, -100
BUILT_IN = 2
UNLIMITED = 0xFFFFFFFF
UNITS = 29  # of power that one write of a page takes: the erasure, and each byte


@dataclass(frozen=True, slots=True)
class State:
    """What the device says of its slots."""

    active: int
    before: int
    left: int
    highest: int
    profile: int
    built_in: int


class BlobDevice:
    """A device with this built-in profile; `options` are the compiler's."""

    def __init__(
        self, profile: tcuq.Profile, folder: Path, key: bytes, options: tuple[str, ...] = ()
    ) -> None:
        export(profile, folder / "export", "c", ota=True)
        library = folder / "device.so"
        sources = [*sorted((folder / "export/src").glob("*.c")), HERE / "hmac_sha256.c"]
        run(
            ["gcc", "-std=c99", "-O0", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *options,
             f"-I{folder / 'export/src'}", f"-I{HERE}", *sources, HERE / "blob_device.c",
             "-o", library]
        )  # fmt: skip
        self.library = ctypes.CDLL(str(library))
        self.key = key
        self.new()

    def new(self) -> None:
        """Erase all flash."""
        self.library.device_new(self.key, len(self.key))

    def load(self, blob: bytes, least: int = 0, offset: int = 0) -> int:
        """The loader's status, then the self-test's."""
        status: int = self.library.device_load(blob, len(blob), least, offset)
        return status

    def start(self) -> int:
        """Restart."""
        status: int = self.library.device_start()
        return status

    def install(self, blob: bytes) -> int:
        """Write a blob into the spare slot and activate it."""
        self.library.device_write(blob, len(blob))
        return self.activate()

    def activate(self) -> int:
        """Activate what is in the spare slot."""
        status: int = self.library.device_activate()
        return status

    def confirm(self) -> int:
        """Confirm the active profile."""
        status: int = self.library.device_confirm()
        return status

    def power(self, units: int = UNLIMITED, *, fails: bool = False) -> None:
        """Cut the power after so many units of flash work, or let every write fail."""
        self.library.device_power(ctypes.c_uint32(units), ctypes.c_bool(fails))

    @property
    def flash(self) -> bytes:
        """All of flash."""
        size = self.library.device_flash(None, None)
        buffer = ctypes.create_string_buffer(size)
        self.library.device_flash(buffer, None)
        return buffer.raw

    @flash.setter
    def flash(self, content: bytes) -> None:
        self.library.device_flash(None, content)

    @property
    def writes(self) -> int:
        """Writes of pages that were begun."""
        count: int = self.library.device_writes()
        return count

    @property
    def state(self) -> State:
        """Active slot, fall-back, restarts left, highest number and profiles."""
        numbers = (ctypes.c_uint32 * 6)()
        self.library.device_state(numbers)
        return State(*numbers)

    def record(self) -> bytes:
        """A telemetry record of the profile that runs."""
        buffer = ctypes.create_string_buffer(87)
        if self.library.device_record(buffer) != 0:
            raise RuntimeError("the device gives no record")
        return buffer.raw
