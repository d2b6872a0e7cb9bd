# SPDX-License-Identifier: Apache-2.0
"""The C uplink as a process under sanitizers, and a device around it with flash that survives."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from exact_store import ACK, HEAD

from tools.firmware.toolchain import RUNTIME, UPLINK, run

WARNINGS = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
SANITIZERS = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
IDLE = 2**32 - 1
OK, NEW_BOOT, CONFIG, FULL, UNSAVED, BUFFER, SNAPSHOT, FOREIGN = 0, 1, -1, -2, -3, -4, -5, -6


def compiled(folder: Path) -> Path:
    """The program uplink_device.c, with the sanitizers in it."""
    program = folder / "uplink_device"
    sources = [
        Path(__file__).with_suffix(".c"),
        *sorted(UPLINK.glob("*.c")),
        *sorted(RUNTIME.glob("*.c")),
    ]
    run(["gcc", *WARNINGS, *SANITIZERS, f"-I{RUNTIME}", f"-I{UPLINK}", *sources, "-o", program])
    return program


class Answer(NamedTuple):
    """A status, and what the uplink then is."""

    status: int
    boot: int
    sequence: int
    waiting: int
    wait_s: int
    moment_s: int
    sent: bytes


class Uplink:
    """The process; a sanitizer's finding ends it, and then the test."""

    def __init__(
        self,
        program: Path,
        device: int = 0x1122334455667788,
        slots: int = 4,
        *,
        signs: bool = False,
    ) -> None:
        self.device = device
        self.snapshot_bytes = 34 + slots * (96 if signs else 87)
        self.process = subprocess.Popen(
            [program, f"{device:x}", str(slots), str(int(signs))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, command: str, value: int = 0, *more: str) -> Answer:
        """Obey; what came of it."""
        status, boot, sequence, waiting, wait_s, moment_s, *sent = self._said(command, value, *more)
        said = bytes.fromhex(sent[0]) if sent else b""
        return Answer(
            int(status), int(boot), int(sequence), int(waiting), int(wait_s), int(moment_s), said
        )

    def snapshot(self) -> tuple[int, bytes]:
        """How many snapshots were taken, and this one."""
        _, saves, text = self._said("snapshot", 0)
        return int(saves), bytes.fromhex(text)

    def stop(self) -> None:
        """Its standard input ends, and so does it, without a complaint."""
        self.process.communicate()
        assert self.process.returncode == 0

    def _said(self, command: str, value: int, *more: str) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(" ".join([command, str(value), *more]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the device's process ended: a sanitizer found something"
        return line.split()


@dataclass(slots=True)
class Device:
    """An uplink, its flash and its clock, and what it has promised to its owner."""

    uplink: Uplink
    now_s: int = 0
    flash: list[bytes] = field(default_factory=list)
    promised: dict[int, tuple[int, int]] = field(default_factory=dict)  # boot: sequence, steps
    steps: int = 0
    continues: bool = False  # this boot has promised something
    acknowledged: dict[int, int] = field(default_factory=dict)

    def start(self) -> None:
        """Power comes: flash is read, a boot begins."""
        self.uplink("init")
        self.flash = self.flash or [b"\xff" * self.uplink.snapshot_bytes] * 2  # erased
        self.uplink("restore", 0, *(copy.hex() for copy in self.flash))
        assert self.uplink("begin", self.now_s).status == OK
        self.steps, self.continues = 0, False

    def hour(self, steps: int, *, save: bool = True, torn: int | None = None) -> int:
        """Steps, a record, and flash; the power may fail before flash is written, or within."""
        self.uplink("count", steps)
        self.steps += steps
        made = self.uplink("record", self.now_s)
        if made.status != OK:
            return made.status
        saves, taken = self.uplink.snapshot()
        if torn is not None:
            cut = torn % len(taken)
            self.flash[saves & 1] = taken[:cut] + self.flash[saves & 1][cut:]
        elif save:
            self.flash[saves & 1] = taken
            self.uplink("saved")
            assert self.continues or made.boot not in self.promised, "a boot's number, again"
            self.continues = True
            self.promised[made.boot] = (made.sequence - 1, self.steps)
        return OK

    def run(self) -> bytes:
        """What is sent now, if anything is; earlier boots are stored by then."""
        sent = self.uplink("run", self.now_s).sent
        if sent:
            _, _, _, _, _, boot, *_ = HEAD.unpack_from(sent)
            for earlier, (sequence, _) in self.promised.items():
                assert earlier >= boot or self.acknowledged.get(earlier, -1) >= sequence
        return sent

    def hear(self, ack: bytes) -> int:
        """An acknowledgement comes."""
        status = self.uplink("ack", self.now_s, ack.hex()).status
        if status == OK:
            _, boot, sequence = ACK.unpack(ack)
            self.acknowledged[boot] = max(sequence, self.acknowledged.get(boot, -1))
        elif status == NEW_BOOT:
            self.promised.clear()  # the counters go on: the next record promises all of them
        return status
