# SPDX-License-Identifier: Apache-2.0
"""Proofs made before of the same text by the same tools: a long run is taken up where it ended."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from tools.firmware.toolchain import ROOT, RUNTIME
from tools.proof import wp

FOLDER = ROOT / ".proof"


def cached(source: str, seconds: int, prove: Callable[[], wp.Proof]) -> wp.Proof:
    """The proof of a source; read if its text, contracts, tools and time are the same."""
    path = FOLDER / f"{source}.json"
    name = _name(source, seconds)
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        if stored["of"] == name:
            return wp.Proof(source, frozenset(stored["proved"]), frozenset(stored["unproved"]),
                         tuple(stored["gaps"]))  # fmt: skip
    proof = prove()
    FOLDER.mkdir(exist_ok=True)
    entry = {"of": name, "proved": sorted(proof.proved), "unproved": sorted(proof.unproved),
            "gaps": list(proof.gaps)}  # fmt: skip
    path.write_text(json.dumps(entry), "utf-8")
    return proof


def _name(source: str, seconds: int) -> str:
    paths = {*RUNTIME.glob("tcuq*.h"), RUNTIME / wp.HEADERS.get(source, source),
             RUNTIME / "tcuq_tables.c", Path(wp.__file__)}  # fmt: skip
    digest = hashlib.sha256(f"{source} {seconds} {wp.versions()}".encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()
