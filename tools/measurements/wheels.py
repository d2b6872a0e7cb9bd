# SPDX-License-Identifier: Apache-2.0
"""The wheels of this machine for both products: built from the source packages, audited, weighed.

The workflow `release` builds those of other platforms with cibuildwheel.
"""

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from results.result import Row, parser, report
from tools.packaging.build import Built, build, run_module

MB = 1_000_000


def product_rows(name: str, built: Built) -> Iterator[Row]:
    """Yield what the audits say of a product's wheel, and its size."""
    tag = built.wheel.stem.rpartition("-")[2]
    yield Row(f"{name}: wheel from the source package alone", "builds", "built", passed=True)
    run_module("abi3audit", "--strict", built.wheel)
    yield Row(f"{name}: stable ABI of 3.11", "abi3audit", "no violation", passed=True)
    yield Row(f"{name}: auditwheel's tag", "manylinux", tag, "manylinux" in tag)
    with zipfile.ZipFile(built.wheel) as archive:
        data = sum(i.compress_size for i in archive.infolist() if "/data/" in i.filename)
    size = built.wheel.stat().st_size
    yield Row(f"{name}: wheel, MB", "≤ 1.5", f"{size / MB:.2f}", size <= 1.5 * MB)
    bare = size - data
    what = f"{name}: wheel without the demo's data, MB"
    yield Row(what, "≤ 1.0", f"{bare / MB:.2f}", bare <= MB)


def main() -> None:
    """Build, audit and report."""
    options = parser(__doc__)
    options.add_argument("--folder", type=Path, help="leave packages and wheels here")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = [row for item in build(folder).items() for row in product_rows(*item)]
    libraries = ("build", "auditwheel", "abi3audit")
    sys.exit(report("wheels", rows, libraries, write=args.write))


if __name__ == "__main__":
    main()
