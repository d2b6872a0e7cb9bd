# SPDX-License-Identifier: Apache-2.0
"""Lists of seeded bugs: each text to change stands once in its file."""

import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.lint.files import ROOT, name_of

SOURCES = ROOT / "src/tcuq"
LISTS = (
    "tools/fuzz/runtime_bugs.toml", "tools/fuzz/uplink_bugs.toml", "tools/fuzz/slots_bugs.toml",
    "tools/proof/seeded.toml",
)  # fmt: skip


def violations(files: Iterable[Path]) -> Iterator[str]:
    """Yield each bug that can no longer be seeded."""
    sources = {str(path.relative_to(SOURCES)): path for path in SOURCES.glob("*/tcuq*.[ch]")}
    by_name = {path.name: path for path in sources.values()} | sources
    for listed in (path for path in files if name_of(path) in LISTS):
        for table in tomllib.loads(listed.read_text("utf-8")).values():
            for bug in table:
                path = by_name.get(bug["file"])
                if path is None or path.read_text("utf-8").count(bug["old"]) != 1:
                    yield f"{name_of(listed)}: {bug['file']} must have {bug['old']!r} once"
