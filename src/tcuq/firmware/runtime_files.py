# SPDX-License-Identifier: Apache-2.0
"""The C files that an export copies, and digests that tell one runtime from another."""

import hashlib
import re
from collections.abc import Mapping
from importlib import resources

PROOF_PREFIX = "tcuq_acsl"  # files for Frama-C, never compiled
SAMPLE_FILES = ("tcuq_health.c", "tcuq_health.h")  # for profiles with input health
TAG_FILE = "tcuq_tag.h"
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def runtime_files(*, health: bool = True) -> dict[str, str]:
    """The runtime's C files by name, unchanged; without those for raw samples if not wanted."""
    files = _c_files("runtime")
    return {name: text for name, text in files.items() if health or name not in SAMPLE_FILES}


def uplink_files() -> dict[str, str]:
    """The uplink's C files by name, unchanged."""
    return _c_files("uplink")


def ota_files() -> dict[str, str]:
    """The C files by name that load a profile from a blob, unchanged."""
    return _c_files("ota") | {TAG_FILE: uplink_files()[TAG_FILE]}


def _c_files(folder_name: str) -> dict[str, str]:
    folder = resources.files("tcuq").joinpath(folder_name)
    return {
        file.name: file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda f: f.name)
        if file.name.endswith((".c", ".h")) and not file.name.startswith(PROOF_PREFIX)
    }


def runtime_digest(files: Mapping[str, str]) -> str:
    """Eight hexadecimal digits that change with any byte of the runtime."""
    digest = hashlib.sha256()
    for name, text in files.items():
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()[:8]


def code_digest() -> str:
    """A digest that changes with the runtime's code, but not with its comments or white space."""
    digest = hashlib.sha256()
    for name, text in runtime_files().items():
        code = " ".join(COMMENTS.sub(" ", text).split())
        digest.update(f"{name}\0{code}\0".encode())
    return digest.hexdigest()
