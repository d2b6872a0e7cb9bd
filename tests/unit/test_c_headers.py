# SPDX-License-Identifier: Apache-2.0
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tcuq

ROOT = Path(tcuq.__file__).parent
HEADERS = (
    "runtime/tcuq.h",
    "runtime/tcuq_health.h",
    "uplink/tcuq_uplink.h",
    "uplink/tcuq_sign.h",
    "ota/tcuq_blob.h",
    "ota/tcuq_slots.h",
)
DECLARATION = re.compile(r"^[a-z][\w ]*[ *](tcuq_\w+)\(([^()]*)\);", re.MULTILINE)


def functions() -> Iterator[tuple[str, str, list[str]]]:
    """Yield each public function's name, the comment before it, and its parameters."""
    for header in HEADERS:
        text = (ROOT / header).read_text("utf-8")
        for declaration in DECLARATION.finditer(text):
            before = text[: declaration.start()].rstrip()
            comment = before[before.rfind("/*") :] if before.endswith("*/") else ""
            names = [re.findall(r"\w+", one)[-1] for one in declaration[2].split(",")]
            yield declaration[1], comment, [name for name in names if name != "void"]


CASES = list(functions())


def test_every_public_header_is_read() -> None:
    """The functions that firmware calls are among them."""
    names = {name for name, _, _ in CASES}
    assert {"tcuq_init", "tcuq_step", "tcuq_health_fold", "tcuq_uplink_stored"} <= names
    assert len(CASES) >= 30


@pytest.mark.parametrize(("name", "comment", "parameters"), CASES, ids=[c[0] for c in CASES])
def test_a_functions_comment_names_every_parameter(
    name: str, comment: str, parameters: list[str]
) -> None:
    """Each function has a comment of its own, which names each parameter."""
    missing = [one for one in parameters if not re.search(rf"\b{one}\b", comment)]
    assert comment, f"{name} has no comment"
    assert not missing, f"{name}: its comment must name {', '.join(missing)}"


@pytest.mark.parametrize("header", [h for h in HEADERS if "sign" not in h and "ota" not in h])
def test_a_header_states_threads_interrupts_and_what_is_undefined(header: str) -> None:
    """Who may call at the same time, from where, and what no function checks."""
    text = (ROOT / header).read_text("utf-8")
    for word in ("at the same time|one caller at a time", "nterrupt", "align", "Undefined"):
        assert re.search(word, text), word
