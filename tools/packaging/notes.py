# SPDX-License-Identifier: Apache-2.0
"""Print the notes of this version from CHANGELOG.md; refuse a tag that is not the version's.

`python -m tools.packaging.notes v0.3.0`. It needs no package.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def notes(changelog: str, version: str) -> str:
    """Return the version's section; it must have a date."""
    section = re.search(
        rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## \[|\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if section is None:
        raise SystemExit(f"CHANGELOG.md must have a section of {version}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", section[1]):
        raise SystemExit(f"CHANGELOG.md: {version} must have a date, got {section[1]!r}")
    return section[2].strip() + "\n"


def check_tag(tag: str, version: str) -> None:
    """Refuse a tag of another version."""
    if tag != f"v{version}":
        raise SystemExit(f"the tag must be v{version}, the version of src/tcuq, got {tag}")


def main() -> None:
    """Print the notes; with a tag, check it first."""
    version = VERSION.search((ROOT / "src/tcuq/version.py").read_text("utf-8"))
    if version is None:
        raise SystemExit("src/tcuq/version.py must define __version__")
    for tag in sys.argv[1:2]:
        check_tag(tag, version[1])
    sys.stdout.write(notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version[1]))


if __name__ == "__main__":
    main()
