# SPDX-License-Identifier: Apache-2.0
"""Wheels of every platform: compiled, audited, measured; the aarch64 one runs under qemu."""

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from results.result import ROOT, Row, parser, report
from tcuq.demo import demo_profile
from tools.packaging.cross import (
    ARM,
    ELF,
    LINUX,
    PLATFORMS,
    Platform,
    compile_extensions,
    python_headers,
)
from tools.packaging.emulated import arm_digest, host_digest
from tools.packaging.modules import run_module

MB = 1_000_000
SHORT = (ARM,)


def build_from_sdist(folder: Path) -> Path:
    """Build the source package, and a wheel from nothing else."""
    run_module("build", "--quiet", "--outdir", folder, ROOT)  # the wheel is built from the sdist
    (wheel,) = folder.glob("*.whl")
    return wheel


def wheel_for(platform: Platform, wheel: Path, headers: Path, folder: Path) -> Path:
    """Put a platform's extensions and tag into a copy of the wheel; unpacked beside it."""
    unpacked = folder / platform.tag
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    for path in unpacked.rglob("*.abi3.so"):
        path.unlink()
    libraries = compile_extensions(platform, headers, folder / f"{platform.tag}-build")
    for name, library in libraries.items():
        if not library.read_bytes().startswith(platform.magic):
            raise SystemExit(f"{name} must be a library of {platform.tag}")
        shutil.copy2(library, unpacked / name)
    (description,) = unpacked.glob("*.dist-info/WHEEL")
    lines = description.read_text("utf-8").splitlines()
    others = [line for line in lines if line and not line.startswith("Tag:")]
    description.write_text("\n".join([*others, f"Tag: cp311-abi3-{platform.tag}"]) + "\n", "utf-8")
    dist = folder / "dist"
    dist.mkdir(exist_ok=True)
    run_module("wheel", "pack", "--dest-dir", dist, unpacked)
    (packed,) = dist.glob(f"*-{platform.tag}.whl")
    return packed


def size_rows(wheel: Path) -> list[Row]:
    """Size of the largest wheel with and without the demo's data."""
    with zipfile.ZipFile(wheel) as archive:
        data = sum(i.compress_size for i in archive.infolist() if "/data/" in i.filename)
    size = wheel.stat().st_size
    return [
        Row("largest wheel, MB", "≤ 1.5", f"{size / MB:.2f}", size <= 1.5 * MB),
        Row(
            "largest wheel without the demo's data, MB",
            "≤ 1.0",
            f"{(size - data) / MB:.2f}",
            size - data <= MB,
        ),
    ]


def audit_rows(platform: Platform, wheel: Path) -> list[Row]:
    """Let auditwheel name the platform of a Linux wheel, and abi3audit check its symbols."""
    run_module("abi3audit", "--strict", wheel)
    rows = [Row(f"{platform.tag}: stable ABI of 3.11", "abi3audit", "no violation", passed=True)]
    if platform.magic == ELF and "manylinux" in platform.tag:
        shown = " ".join(run_module("auditwheel", "show", wheel).split())
        named = f'platform tag: "{platform.tag}"' in shown
        rows.append(
            Row(
                f"{platform.tag}: auditwheel's tag",
                platform.tag,
                shown.partition('tag: "')[2].partition('"')[0],
                named,
            )
        )
    return rows


def emulated_row(folder: Path, work: Path) -> Row:
    """Compare decisions of the aarch64 wheel under qemu with the x86-64 wheel's."""
    profile = folder / "profile.json"
    demo_profile().save(profile)
    here = host_digest(folder / LINUX.tag, profile)
    there = arm_digest(folder / ARM.tag, profile, work)
    digest, steps, _ = here.split()
    measured = f"{int(steps):,} steps, hash {digest[:8]}"
    if here != there:
        measured += f", {there.split()[0][:8]} under qemu"
    return Row(
        "aarch64 wheel under qemu-user: decisions of x86-64", "bit-equal", measured, here == there
    )


def main() -> None:
    """Make the wheels and report; --short makes one and emulates none."""
    options = parser(__doc__)
    options.add_argument("--folder", type=Path, help="keep the wheels here, in dist")
    args = options.parse_args()
    platforms = SHORT if args.short else PLATFORMS
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        built = build_from_sdist(folder / "sdist")
        rows.append(Row("wheel from the source package alone", "builds", "built", passed=True))
        headers = python_headers(Path(temporary))
        wheels = {platform: wheel_for(platform, built, headers, folder) for platform in platforms}
        for platform, wheel in wheels.items():
            ran = platform in (LINUX, ARM) and not args.short
            measured = f"{wheel.stat().st_size / MB:.2f} MB, {'run' if ran else 'compiled only'}"
            rows.append(Row(f"{platform.tag}: both extensions", "compile", measured, passed=True))
            rows += audit_rows(platform, wheel)
        rows += size_rows(max(wheels.values(), key=lambda wheel: wheel.stat().st_size))
        if not args.short:
            rows.append(emulated_row(folder, folder))
    libraries = ("ziglang", "auditwheel", "abi3audit")
    sys.exit(report("wheels", rows, libraries, write=args.write))


if __name__ == "__main__":
    main()
