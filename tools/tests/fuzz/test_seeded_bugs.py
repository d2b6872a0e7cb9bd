# SPDX-License-Identifier: Apache-2.0
"""Bugs put into a copy of the runtime on purpose: what claims to catch them does."""

import shutil
from pathlib import Path

import pytest

from tests.fixtures.effort import every
from tests.fixtures.firmware.toolchain import OTA, RUNTIME
from tools.fuzz import blob
from tools.fuzz.compilers import complaints
from tools.fuzz.cppcheck import Deviation, deviations, plain_findings, violations
from tools.fuzz.cppcheck import complaints as misra_complaints
from tools.fuzz.fuzzers import HERE as FUZZ
from tools.fuzz.fuzzers import build, build_pair, compile_watched, link
from tools.fuzz.run import CORPUS, fuzz, replay
from tools.fuzz.seeds import MODELS, write
from tools.seeded_bugs import Bug, read_bugs, seed

MOST_SECONDS = 20  # for the fuzzer to find what it was not shown

LISTED = FUZZ / "runtime_bugs.toml"
BUGS = {
    table: {bug.name: bug for bug in read_bugs(LISTED, table)} for table in ("bugs", "dsp", "blob")
}


def seed_text(runtime: Path, name: str, old: str, new: str) -> Path:
    """Change a text of a copy of the runtime."""
    return seed(Bug(name, old, new), runtime / name, Path(__file__).name)


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """Return a copy of the runtime's sources."""
    copy = tmp_path / "runtime"
    shutil.copytree(RUNTIME, copy, ignore=shutil.ignore_patterns("*.so", "*.py*", "__pycache__"))
    return copy


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the fuzzer of the true runtime was built."""
    folder = tmp_path_factory.mktemp("build")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the inputs in the repository and the seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    write(folder)
    return [CORPUS, folder]


def keep_one(runtime: Path, name: str) -> None:
    """Leave one source and all headers: what is sought is in it, and the check is quick."""
    for source in runtime.glob("*.c"):
        if source.name != name:
            source.unlink()


def rebuilt(objects: Path, source: Path, folder: Path) -> Path:
    """Build the fuzzer with one source compiled anew."""
    shutil.copytree(objects, folder, ignore=shutil.ignore_patterns("fuzzer"))
    changed = sorted(source.parent.glob("*.c")) if source.suffix == ".h" else [source]
    compile_watched(folder, changed)
    return link(folder)


def test_kept_inputs_find_nothing_in_the_true_runtime(objects: Path, corpus: list[Path]) -> None:
    """What follows is caught because it was seeded: without it, nothing is found."""
    outcome = replay(objects / "fuzzer", corpus)
    assert outcome.finding == ""
    assert outcome.executions >= sum(1 for folder in corpus for _ in folder.iterdir())


@pytest.mark.parametrize("name", every(4, list(BUGS["bugs"])))
def test_kept_inputs_show_the_bug(
    name: str, objects: Path, corpus: list[Path], runtime: Path, tmp_path: Path
) -> None:
    """Running the kept inputs, in a second or two, stops at the bug and says what it is."""
    bug = BUGS["bugs"][name]
    source = seed(bug, runtime / bug.file, LISTED.name)
    fuzzer = rebuilt(objects, source, tmp_path / "build")
    assert bug.message in replay(fuzzer, corpus).finding


def test_fuzzing_finds_what_no_kept_input_shows(
    objects: Path, runtime: Path, tmp_path: Path
) -> None:
    """From one input that does not show a bug, mutation comes to one that does, within seconds."""
    bug = BUGS["bugs"]["the ring ends one slot too late"]
    source = seed(bug, runtime / bug.file, LISTED.name)
    fuzzer = rebuilt(objects, source, tmp_path / "build")
    start = tmp_path / "start"
    start.mkdir()
    (start / "idle").write_bytes(MODELS["tcuq"].encode())
    assert replay(fuzzer, [start]).finding == ""
    assert "SUMMARY: " in fuzz(fuzzer, [start], MOST_SECONDS).finding


@pytest.mark.parametrize("name", BUGS["dsp"])
def test_the_code_for_dsp_instructions_is_attacked_too(
    name: str, corpus: list[Path], runtime: Path, tmp_path: Path
) -> None:
    """What only a CPU with DSP instructions would do is seen on the host, beside the plain C."""
    bug = BUGS["dsp"][name]
    seed(bug, runtime / bug.file, LISTED.name)
    assert bug.message in replay(build_pair(tmp_path / "build", runtime), corpus).finding


@pytest.mark.parametrize("name", BUGS["blob"])
def test_the_fuzzer_finds_a_bug_in_the_blob_loader(name: str, tmp_path: Path) -> None:
    """The sanitizers or a broken promise end the run within seconds."""
    bug, ota = BUGS["blob"][name], shutil.copytree(OTA, tmp_path / "ota")
    seed(bug, ota / bug.file, LISTED.name)
    blob.write_seeds(tmp_path / "seeds")
    (tmp_path / "fresh").mkdir()
    fuzzer = blob.build(tmp_path / "build", f"-U{blob.COPY[2:]}", ota)
    corpora = [tmp_path / "fresh", tmp_path / "seeds"]
    assert fuzz(fuzzer, corpora, 30, longest=blob.LONGEST).finding


def test_a_cast_left_out_is_a_warning(runtime: Path) -> None:
    """A 32-bit sum returned as 16 bits without a cast stops gcc and clang."""
    old = "return (uint16_t)(tcuq_sigmoid((int32_t)(sum_q18 >> 2) + bias_q16) >> 2);"
    seed_text(runtime, "tcuq_score.c", old, old.replace("(uint16_t)", ""))
    messages = list(complaints(runtime, ["gcc", "clang"], ["everything"]))
    assert len(messages) == 2
    assert "-Werror=conversion" in messages[0]
    assert "-Wimplicit-int-conversion" in messages[1]


def test_a_deviation_that_is_not_listed_fails(runtime: Path) -> None:
    """An if without braces breaks a rule of MISRA that the list does not name."""
    old = "if (decision->reason == 0u) {\n        return;\n    }"
    seed_text(runtime, "tcuq_budget.c", old, old.replace(" {", "").replace("\n    }", ""))
    keep_one(runtime, "tcuq_budget.c")
    by_rule = violations([runtime])
    assert [place.split(":")[0] for place in by_rule["15.6"]] == ["tcuq_budget.c"]
    assert any(
        "rule 15.6 is not kept, and not in misra.toml" in text
        for text in misra_complaints(by_rule, deviations())
    )


def test_the_list_of_deviations_is_held_to_account() -> None:
    """A rule that is kept again fails too, and one more place than is listed."""
    one: Deviation = {"reason": "r", "count": 1}
    listed = {"8.9": one, "15.5": one, "17.8": one}
    messages = list(misra_complaints({"15.5": ["a.c:1", "b.c:2"], "17.8": ["a.c:3"]}, listed))
    assert messages == [
        "rule 8.9 is kept now: remove it from misra.toml",
        "rule 15.5: 2 places, 1 listed: a.c:1, b.c:2",
    ]


def test_an_overflow_is_found_by_cppcheck(runtime: Path) -> None:
    """A read past a table's end is seen without running anything."""
    seed_text(
        runtime,
        "tcuq_epoch.c",
        "- tcuq_channels_q8[profile->channel_count]",
        "- tcuq_channels_q8[6]",
    )
    keep_one(runtime, "tcuq_epoch.c")
    assert "arrayIndexOutOfBounds" in plain_findings([runtime])
