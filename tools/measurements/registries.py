# SPDX-License-Identifier: Apache-2.0
"""The runtime package, checked with the tool or the schema of each registry."""

import shutil
import sys
import tempfile
from pathlib import Path

from results.result import Row, parser, report
from tools.registries.package import read_facts, write_package
from tools.registries.published import check_published
from tools.registries.validate import REGISTRIES


def main() -> None:
    """Write the package, check it and report; --output keeps it with the packed archives."""
    options = parser()
    options.add_argument("--output", type=Path, help="keep package and archives in this folder")
    options.add_argument("--schemas", type=Path, help="folder of the published schema files")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        package, archives = work / "tcuq", work / "archives"
        archives.mkdir()
        write_package(package, read_facts(), work / "example")
        accepted = {name: check(package, archives) for name, check in REGISTRIES.items()}
        if args.schemas is not None:
            for name, schema in check_published(package, args.schemas).items():
                accepted[name] += f"; {schema}"
        if args.output is not None:
            shutil.copytree(package, args.output / "tcuq", dirs_exist_ok=True)
            for path in (path for path in archives.iterdir() if path.is_file()):
                shutil.copy2(path, args.output)
    rows = [Row(name, "accepted", f"by {tool}", passed=True) for name, tool in accepted.items()]
    libraries = ("platformio", "idf-component-manager", "kconfiglib", "lxml")
    sys.exit(report("registries", rows, libraries, write=args.write))


if __name__ == "__main__":
    main()
