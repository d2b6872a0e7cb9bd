# SPDX-License-Identifier: Apache-2.0
"""Proofs made before of the same text by the same tools: a long run is taken up where it ended."""

import hashlib
import json
from collections.abc import Callable

from tools.proof import wp


def cached(source: str, prove: Callable[[], wp.Proof]) -> wp.Proof:
    """Return the proof of a source; read if its text, contracts and tools are the same."""
    path = wp.CACHE / f"{source}-{_digest(source)[:16]}.json"
    if path.exists():
        stored = json.loads(path.read_text("utf-8"))
        return wp.Proof(source, frozenset(stored["proved"]), frozenset(stored["unproved"]),
                        tuple(stored["gaps"]))  # fmt: skip
    proof = prove()
    entry = {"proved": sorted(proof.proved), "unproved": sorted(proof.unproved),
             "gaps": list(proof.gaps)}  # fmt: skip
    path.write_text(json.dumps(entry), "utf-8")
    return proof


def _digest(source: str) -> str:
    """Return a digest of all that the proof depends on, and of no comment or unused function."""
    key = (source, wp.versions(), wp.COMMAND, wp.seconds(source), list(wp.runs(source)),
           wp.unseen(source), wp.GAPS.pattern, wp.FEWER_AXIOMS_VERSION,
           wp.parsed(source))  # fmt: skip
    return hashlib.sha256(repr(key).encode()).hexdigest()
