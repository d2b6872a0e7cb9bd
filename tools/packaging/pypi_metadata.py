# SPDX-License-Identifier: Apache-2.0
"""README and URLs as PyPI shows them, filled in at build from the setting tool.tcuq.address.

A provider of scikit-build-core. PyPI shows no file of the repository: links to files get the public
address before them; while there is none, they become plain text and pictures are left out.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)\n?")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def readme(text: str, address: str, version: str) -> str:
    """Return the README with absolute links, or without links if there is no address."""
    if not address:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    text = PICTURE.sub(rf"![\1]({address}/raw/v{version}/\2)\n", text)
    return LINK.sub(rf"[\1]({address}/blob/v{version}/\2)", text)


def urls(address: str) -> dict[str, str]:
    """Return the project's URLs; none while there is no address."""
    if not address:
        return {}
    changelog = f"{address}/blob/main/CHANGELOG.md"
    return {"Repository": address, "Issues": f"{address}/issues", "Changelog": changelog}


def dynamic_metadata(field: str, _settings: dict[str, Any]) -> dict[str, str]:
    """Return the project's field `readme` or `urls`; the build runs in the project's folder."""
    address = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["tcuq"]["address"]
    if field == "urls":
        return urls(address)
    version = VERSION.search(Path("src/tcuq/version.py").read_text("utf-8"))
    if version is None:
        raise ValueError("src/tcuq/version.py must define __version__")
    text = readme(Path("README.md").read_text("utf-8"), address, version[1])
    return {"content-type": "text/markdown", "text": text}
