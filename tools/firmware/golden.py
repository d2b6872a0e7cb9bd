# SPDX-License-Identifier: Apache-2.0
"""Golden records and acknowledgements, encoded by the device's code on a host or an emulated CPU.

`tests/fleet/golden_records.json` holds fields and bytes; `--write` encodes the bytes again.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from tools.firmware.toolchain import FLAGS, HERE, ROOT, RUNTIME, UPLINK, Cpu, compile_runtime, run

GOLDEN = ROOT / "tests/fleet/golden_records.json"
SIZES = (87, 96, 29)
HOST_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror")
SOURCES = (HERE / "records.c", HERE / "hmac_sha256.c", *sorted(UPLINK.glob("*.c")))


class Encoded(NamedTuple):
    """A record in both versions, and its signed acknowledgement."""

    version_1: bytes
    version_2: bytes
    signed_ack: bytes


def golden() -> dict[str, Any]:
    """The committed file."""
    document: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return document


def encoded_on_host(folder: Path) -> list[Encoded]:
    """All golden states, encoded by this machine's compiler and CPU."""
    states = _states(folder)
    sources = [*SOURCES, HERE / "hosted.c", *sorted(RUNTIME.glob("tcuq*.c")), states]
    run(["gcc", *HOST_FLAGS, *_includes(), *sources, "-o", folder / "records"])
    run([folder / "records"], cwd=folder)
    return _read(folder)


def encoded_on(cpu: Cpu, folder: Path) -> list[Encoded]:
    """The same by an emulated CPU."""
    objects = compile_runtime(cpu, folder, "-O2")
    sources = [HERE / cpu.startup, HERE / "semihosting.c", *SOURCES, _states(folder)]
    run(
        [f"{cpu.prefix}gcc", *cpu.flags, *FLAGS, "-O2", *_includes(), "-nostdlib", "-nostartfiles",
         "-Wl,--gc-sections", f"-L{HERE / 'ld'}", "-T", HERE / f"ld/{cpu.name}.ld", *sources,
         *objects, "-lgcc", "-o", folder / "records.elf"],
        cwd=folder,
    )  # fmt: skip
    run(
        [*cpu.emulator, "-nographic", "-monitor", "none", "-serial", "none",
         "-semihosting-config", "enable=on,target=native", "-kernel", folder / "records.elf"],
        cwd=folder,
    )  # fmt: skip
    return _read(folder)


def _includes() -> Sequence[str]:
    return [f"-I{path}" for path in (RUNTIME, UPLINK, HERE)]


def _states(folder: Path) -> Path:
    """The golden states as C."""
    document = golden()
    master = ", ".join(f"{byte}u" for byte in bytes.fromhex(document["master_key"]))
    rows = ",\n".join(_state(record["fields"], record["state"]) for record in document["records"])
    path = folder / "states.c"
    path.write_text(
        f'#include "records.h"\n\nconst golden_state golden_states[] = {{\n{rows}}};\n'
        "const uint32_t golden_count = sizeof golden_states / sizeof golden_states[0];\n"
        f"const uint8_t golden_master[32] = {{{master}}};\n"
        f"const uint8_t golden_key = {document['key_id']}u;\n",
        "utf-8",
    )
    return path


def _state(fields: dict[str, Any], state: dict[str, Any]) -> str:
    identity = ", ".join(f".{name} = {fields[name]}u" for name in ("firmware", "boot", "sequence"))
    identity += f", .device = {fields['device']}ull"
    core = (
        f".ledger_q16 = {state['ledger_q16']}, .closed = {fields['closed']},"
        f" .cause = {fields['cause']}u, .epoch = {fields['epoch']}u,"
        f" .epoch_steps = {state['epoch_steps']}u"
    )
    names = ("steps", "abstained", "denied", "exceeded", "alarms", "histogram_shift")
    counters = ", ".join(f".{name} = {fields[name]}u" for name in names)
    bins = ", ".join(f"{count}u" for count in fields["histogram"])
    channels = state["channels"] or [{"block": 0, "onset_q8": 0, "span_q8": 0}]
    blocks = ", ".join(f"{{.block = {channel['block']}u}}" for channel in channels)
    evidence = ", ".join(
        f"{{.onset_q8 = {channel['onset_q8']}, .span_q8 = {channel['span_q8']}}}"
        for channel in channels
    )
    return (
        f"{{.identity = {{{identity}}}, .profile = {fields['profile']}u, .core = {{{core}}},"
        f" .blocks = {{{blocks}}}, .channels = {{{evidence}}},"
        f" .channel_count = {len(state['channels'])}u,"
        f" .telemetry = {{{counters}, .histogram = {{{bins}}}}}}}"
    )


def _read(folder: Path) -> list[Encoded]:
    text = (folder / "records.bin").read_bytes()
    ends = tuple(accumulate(SIZES))
    return [
        Encoded(*(text[at + end - size : at + end] for size, end in zip(SIZES, ends, strict=True)))
        for at in range(0, len(text), ends[-1])
    ]


def main() -> None:
    """Compare the committed bytes with the host's, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the host's bytes into the file")
    args = parser.parse_args()
    document = golden()
    with tempfile.TemporaryDirectory() as folder:
        encoded = encoded_on_host(Path(folder))
    codes = [{name: code.hex() for name, code in record._asdict().items()} for record in encoded]
    same = [{**record, **hexed} for record, hexed in zip(document["records"], codes, strict=True)]
    if args.write:
        GOLDEN.write_text(json.dumps({**document, "records": same}, indent=1) + "\n", "utf-8")
    print(f"{len(same)} records: {'same' if same == document['records'] else 'others than before'}")


if __name__ == "__main__":
    main()
