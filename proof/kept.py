# SPDX-License-Identifier: Apache-2.0
"""Proofs made before of the same text by the same tools: a long run is taken up where it ended."""

import hashlib
import json
from collections.abc import Callable

from proof.wp import HEADERS, ROOT, RUNTIME, Proof, versions

FOLDER = ROOT / ".proof"


def kept(source: str, seconds: int, prove: Callable[[], Proof]) -> Proof:
    """The proof of a source; read if its text, contracts, tools and time are the same."""
    path = FOLDER / f"{source}.json"
    name = _name(source, seconds)
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        if stored["of"] == name:
            return Proof(source, frozenset(stored["proved"]), frozenset(stored["unproved"]),
                         tuple(stored["gaps"]))  # fmt: skip
    proof = prove()
    FOLDER.mkdir(exist_ok=True)
    made = {"of": name, "proved": sorted(proof.proved), "unproved": sorted(proof.unproved),
            "gaps": list(proof.gaps)}  # fmt: skip
    path.write_text(json.dumps(made), "utf-8")
    return proof


def _name(source: str, seconds: int) -> str:
    paths = {*RUNTIME.glob("tcuq*.h"), RUNTIME / HEADERS.get(source, source),
             RUNTIME / "tcuq_tables.c", ROOT / "proof/wp.py"}  # fmt: skip
    said = hashlib.sha256(f"{source} {seconds} {versions()}".encode())
    for path in sorted(paths):
        said.update(path.read_bytes())
    return said.hexdigest()
