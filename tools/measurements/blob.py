# SPDX-License-Identifier: Apache-2.0
"""Profiles over the air: broken blobs refused, power cuts survived, flash of the loader."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import tcuq
from results.result import Row, figure, measure
from tcuq.demo import demo_profile
from tcuq.firmware import hmac_signer, profile_blob
from tests.fixtures.firmware.blob_damage import DAMAGES
from tests.fixtures.firmware.blob_device import (
    COUNTED,
    CUT,
    EXTERNAL,
    KEY_NUMBER,
    OK,
    PRODUCT,
    SEALED,
    TRIAL,
    UNITS,
    BlobDevice,
)
from tests.fixtures.firmware.toolchain import HERE, M4, OTA, RUNTIME, UPLINK, run

KEY = bytes(range(32))
NUMBER = 1_000_000
BLOBS, SHORT = 100_000, 4_000
MAX_LOADER_BYTES = 1000
OPTIONS = {"plain": 0, "all options": EXTERNAL | SEALED | COUNTED}
# The adapter as a function, with the declaration that Monocypher has.
ED25519_C = """#include <stddef.h>
#include <stdint.h>
int crypto_ed25519_check(const uint8_t *, const uint8_t *, const uint8_t *, size_t);
#include "tcuq_verify_ed25519.h"
tcuq_verdict verify(void *context, const tcuq_signed_blob *blob);
tcuq_verdict verify(void *context, const tcuq_signed_blob *blob)
{
    return tcuq_verify_ed25519(context, blob);
}
"""
LIBRARIES = {
    "libsodium's Ed25519 verification": ("SODIUM", "-lsodium"),
    "Mbed TLS's PSA Crypto with P-256 and HMAC": ("PSA", "-lmbedcrypto"),
}
MAIN_C = """int main(void) { return CALL; }
"""
CALL = "library_verify(0, 0, 0, 0, 0, 0, 0, 0)"


def newer_profile(profile: tcuq.Profile, start: int) -> tcuq.Profile:
    """Return a profile of the same inputs with another starting threshold."""
    return replace(profile, threshold=replace(profile.threshold, start=start))


def refused(device: BlobDevice, blob: bytes, count: int) -> dict[str, int]:
    """Return how many of `count` broken blobs of each kind are refused, with nothing changed."""
    if device.install(blob) != OK or device.confirm() != OK:
        raise RuntimeError("the device refuses a blob that is whole, authentic and new")
    before, rng = device.state, np.random.default_rng(19)
    refusals = dict.fromkeys(DAMAGES, 0)
    for kind, (damage, expected) in DAMAGES.items():
        for _ in range(count):
            broken = damage(blob, NUMBER, KEY, rng)
            refusals[kind] += device.install(broken) in expected and device.state == before
    return refusals


def survived_cuts(device: BlobDevice, blobs: tuple[bytes, bytes], options: int) -> tuple[int, int]:
    """Count power cuts in the life of a switch, at every byte written, and those survived."""
    actions = (
        (0, BlobDevice.activate), (1, BlobDevice.confirm),
        *((restarts, BlobDevice.start) for restarts in (1, 2, 3, 4)),
    )  # fmt: skip
    names = {int.from_bytes(blob[16:20], "little") for blob in blobs}
    cuts = survived = 0
    for restarts, action in actions:
        device.new(options)
        device.power()
        device.start()
        device.install(blobs[0])
        device.confirm()
        device.library.device_write(blobs[1], len(blobs[1]))
        for restart in range(restarts):
            _ = device.activate() if restart == 0 else device.start()
        flash = device.flash
        for units in range(UNITS):
            device.flash = flash
            device.power()
            if action is not BlobDevice.start:
                device.start()
            device.power(units)
            ended = action(device)
            device.power()
            cuts += 1
            survived += ended == CUT and device.start() in (OK, TRIAL) and (
                device.state.profile in names
            )  # fmt: skip
    return cuts, survived


def flash_bytes(folder: Path, sources: Sequence[Path]) -> dict[str, int]:
    """Return the bytes of each source on a Cortex-M4 at -Os."""
    folders = [f"-I{path}" for path in (RUNTIME, UPLINK, OTA)]
    flags = ("-Os", "-std=c99", "-ffreestanding", *folders, "-c")
    run([f"{M4.prefix}gcc", *M4.flags, *flags, *sources], cwd=folder)
    table = run([f"{M4.prefix}size", *(folder / f"{path.stem}.o" for path in sources)])
    sizes = [int(line.split()[0]) for line in table.splitlines()[1:]]
    return {path.stem: size for path, size in zip(sources, sizes, strict=True)}


def library_bytes(folder: Path, name: str) -> int:
    """Return the bytes that a verifier and its library add to a static program of the host."""
    build, library = LIBRARIES[name]
    declared = "#include <stdint.h>\nint library_verify();\n"
    (folder / "main.c").write_text(declared + MAIN_C, "utf-8")
    flags = ["-Os", "-ffunction-sections", "-fdata-sections", "-static", "-Wl,--gc-sections"]
    texts: list[int] = []
    for call in ("0", CALL):
        program = folder / f"{build}-{len(texts)}"
        sources = [HERE / "verifiers.c", folder / "main.c"]
        run(["gcc", *flags, f"-DWITH_{build}", f"-DCALL={call}", f"-I{OTA}", f"-I{UPLINK}",
             *sources, library, "-o", program])  # fmt: skip
        texts.append(sum(map(int, run(["size", program]).splitlines()[1].split()[:2])))
    return texts[1] - texts[0]


def rows(short: bool) -> Iterator[Row]:
    """Yield refusals, survived power cuts and flash; the short form tries fewer blobs."""
    each = -(-(SHORT if short else BLOBS) // len(DAMAGES))
    profile = demo_profile()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        device = BlobDevice(profile, folder / "device", KEY, ("-O2",))
        device.start()
        signer = hmac_signer(KEY, key_number=KEY_NUMBER)
        first, second = (
            profile_blob(
                newer_profile(profile, start), number=NUMBER + start, signer=signer, product=PRODUCT
            )
            for start in (0, 1)
        )
        refusals = sum(refused(device, first, each).values())
        tried = [survived_cuts(device, (first, second), options) for options in OPTIONS.values()]
        cuts, survived = (sum(counts) for counts in zip(*tried, strict=True))
        (folder / "ed25519.c").write_text(ED25519_C, "utf-8")
        sizes = flash_bytes(folder, [*sorted(OTA.glob("*.c")), folder / "ed25519.c"])
        libraries = {name: library_bytes(folder, name) for name in LIBRARIES}
    offered, loader = each * len(DAMAGES), sizes["tcuq_blob"]
    yield Row(
        "blobs damaged, cut, forged, replayed or downgraded",
        "at least 100,000 offered, all refused, nothing changed",
        f"{refusals:,} of {offered:,} refused ({each:,} of each of {len(DAMAGES)} kinds)",
        refusals == offered and (short or offered >= BLOBS),
    )
    yield Row(
        "power cut at every erasure and byte of every write of the switch",
        "the old or the new profile runs",
        f"{survived:,} of {cuts:,} cuts",
        survived == cuts,
    )
    yield Row(
        "flash of the blob loader, Cortex-M4 at -Os",
        f"at most {MAX_LOADER_BYTES} bytes",
        f"{loader} bytes; self-test {sizes['tcuq_blob_selftest']}, switch {sizes['tcuq_switch']},"
        f" slots {sizes['tcuq_slots']}",
        loader <= MAX_LOADER_BYTES,
    )
    yield figure("bytes of the demo's profile as a blob", f"{len(first):,}")
    what = "Cortex-M4 at -Os"
    yield figure(f"flash of the HMAC verifier, {what}", f"{sizes['tcuq_verify']} bytes")
    yield figure(f"flash of the Ed25519 adapter, {what}", f"{sizes['ed25519']} bytes")
    for name, size in libraries.items():
        yield figure(f"{name}, x86-64", f"{size:,} bytes")


if __name__ == "__main__":
    measure("blob", rows, tools=("arm-none-eabi-gcc",))
