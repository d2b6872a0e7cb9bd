# SPDX-License-Identifier: Apache-2.0
"""The proof gate: exact names alone, nothing new, nothing that is proved by now."""

import re
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import ROOT, RUNTIME
from tools.proof import run
from tools.proof.seeded import BUGS, LEAST_BUGS, refusals
from tools.proof.wp import (
    FOLDERS,
    PACKAGE,
    TABLES,
    UNIT,
    UNREAD,
    Proof,
    functions,
    locate,
    sources,
    unread,
)
from tools.seeded_bugs import read_bugs

PAGE = ROOT / "docs/reference/proof.md"
OPEN = "typed_tcuq_remember_ensures"
NEW = "typed_tcuq_remember_assert_rte_mem_access_3"


def proof(*unproved: str) -> Proof:
    """Return a proof of tcuq_signals.c with these goals open."""
    return Proof("tcuq_signals.c", frozenset({"typed_other"}), frozenset(unproved), ())


def test_a_wildcard_accepted_two_out_of_bounds_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pattern in unproved.toml, which would match goals that a bug adds, is refused."""
    listed = tmp_path / "unproved.toml"
    listed.write_text('["tcuq_signals.c"]\n"typed_tcuq_remember_*" = "the same"\n', "utf-8")
    monkeypatch.setattr(run, "UNPROVED", listed)
    with pytest.raises(ValueError, match="exact name"):
        run.unproved_goals()


def test_a_new_open_goal_fails() -> None:
    """A goal that is open and not listed is named."""
    assert list(run.complaints(proof(OPEN, NEW), {OPEN: "why"})) == [
        f"tcuq_signals.c: {NEW} is not proved"
    ]


def test_a_listed_goal_that_is_proved_fails() -> None:
    """A listed goal that is proved or gone must leave the list."""
    (complaint,) = run.complaints(proof(), {OPEN: "why"})
    assert complaint.startswith(f"tcuq_signals.c: {OPEN} is proved by now")


def test_a_seeded_bug_is_judged_by_its_own_function() -> None:
    """Open goals of other functions neither hide nor blame a seeded bug."""
    assert refusals(proof("typed_tcuq_find_past_assert"), "tcuq_find_past")


def test_seeded_bugs_fit_the_sources() -> None:
    """There are at least 20 seeded bugs, and each changes text that stands in its source once."""
    seeded = read_bugs(BUGS)
    assert len(seeded) >= LEAST_BUGS
    counts = {bug.old: locate(bug.file).read_text("utf-8").count(bug.old) for bug in seeded}
    assert set(counts.values()) == {1}


def test_code_that_the_prover_does_not_read_is_listed() -> None:
    """The page names every part left out, with an existing test that stands for it."""
    rows = re.findall(r"^\| `(tcuq_\w+\.[ch])` \| `([^`]+)` \|.*?\| (.+) \|$",
                      PAGE.read_text("utf-8"), re.MULTILINE)  # fmt: skip
    listed = {(source, condition) for source, condition, _ in rows}
    actual = {
        (path.name, condition)
        for path in RUNTIME.glob("tcuq*.[ch]")
        for condition in unread(path.read_text("utf-8"))
    }
    assert listed == actual
    for *_, standing in rows:
        names = re.findall(r"`([\w/]+\.py)`", standing)
        assert names
        assert all((ROOT / name).exists() for name in names)


def test_sources_and_functions_that_the_prover_does_not_read_are_listed() -> None:
    """Every C source is proved or on the page; of a proved one, the functions it leaves out are."""
    page = PAGE.read_text("utf-8")
    sources_of_all = {path.name for folder in FOLDERS for path in (PACKAGE / folder).glob("*.c")}
    left_out = sources_of_all - {*sources(), TABLES}
    assert left_out == {"tcuq_blob_selftest.c"}
    assert all(f"`{name}`" in page for name in (*left_out, *UNREAD))
    for source, names in UNREAD.items():
        assert set(names) < set(functions(locate(source).read_text("utf-8")))


def read_with(source: str) -> set[str]:
    """Return the headers of this project that a source includes, itself or through others."""
    included = re.findall(r'^#include "(\w+\.h)"', locate(source).read_text("utf-8"), re.MULTILINE)
    return set(included).union(*(read_with(header) for header in included))


def test_a_lemma_was_used_that_no_run_proves() -> None:
    """Lemmas are proved with one source: none stands in a header that it does not include."""
    headers = [path for folder in FOLDERS for path in (PACKAGE / folder).glob("*.h")]
    stating = {path.name for path in headers if " lemma " in path.read_text("utf-8")}
    assert stating
    assert stating <= read_with(UNIT)
