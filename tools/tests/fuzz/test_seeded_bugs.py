# SPDX-License-Identifier: Apache-2.0
"""Bugs put into a copy of the runtime on purpose: what claims to catch them does."""

import shutil
from pathlib import Path

import pytest

from tests.fixtures.firmware.toolchain import RUNTIME
from tools.fuzz.compilers import complaints
from tools.fuzz.cppcheck import Deviation, deviations, plain_findings, violations
from tools.fuzz.cppcheck import complaints as misra_complaints
from tools.fuzz.fuzzers import build, build_pair, compile_watched, link
from tools.fuzz.run import CORPUS, fuzz, replay
from tools.fuzz.seeds import MODELS, write

MOST_SECONDS = 20  # for the fuzzer to find what it was not shown

# What is broken, where, by which exact change, and what the kept inputs must show.
BUGS = {
    "the ring ends one slot too late": (
        "tcuq_signals.c", "((at + 1u) == size)", "(at == size)",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    "a term's points are read one too far": (
        "tcuq_score.c", "(term->point_count - 1u)", "(term->point_count)",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    "four products no longer fit in a sum": (
        "tcuq_score.c", "(profile->weight_shift - 1u)", "(profile->weight_shift - 5u)",
        "signed integer overflow",
    ),
    "the sum of terms is kept in 16 bits": (
        "tcuq_score.c", "uint32_t total_q18 = 0u;", "uint16_t total_q18 = 0u;",
        "implicit conversion from type 'unsigned int' of value",
    ),
    "a block is taken whose steps run into the memory of a pass": (
        "tcuq.h", "#define TCUQ_MAX_BLOCK 8192u", "#define TCUQ_MAX_BLOCK 16384u",
        "broken promise: first_build.init(given) == expected",
    ),
    "a snapshot's checksum is not compared": (
        "tcuq_restore.c", "(tcuq_get_32(&buffer[body]) != tcuq_crc32(buffer, body))", "false",
        "broken promise: status == TCUQ_ERROR_SNAPSHOT",
    ),
    "a restored mean of the surprise is not checked": (
        "tcuq_restore.c", "(core->recent_q18 <= TCUQ_RECENT_MAX)", "true",
        "broken promise: (status != TCUQ_OK) || possible",
    ),
    "a restored place in the ring is not checked": (
        "tcuq_restore.c", "(core->next < slots)", "true",
        "broken promise: (status != TCUQ_OK) || possible",
    ),
    "the ledger starts from what the memory held": (
        "tcuq_monitor.c", "    tcuq_threshold_reset(monitor);\n", "",
        "broken promise: ",
    ),
    "risk passes its largest level": (
        "tcuq_score.c", "+ profile->bias_q16) >> 2);", "+ profile->bias_q16) >> 1);",
        "broken promise: is->risk <= TCUQ_RISK_LEVELS",
    ),
    "a group has one channel too many": (
        "tcuq_health.c", "uint32_t channels = group->channels;",
        "uint32_t channels = group->channels + 1u;", "AddressSanitizer: heap-buffer-overflow",
    ),
    "a window takes more frames than it can count": (
        "tcuq_health.c", "(health->frames == TCUQ_HEALTH_MAX_FRAMES)", "(health->frames > 65535)",
        "implicit conversion from type 'int' of value 65536",
    ),
    "the first sample of a window counts as repeated": (
        "tcuq_health.c", "((most - 1u) << 10)", "(most << 10)",
        "broken promise: (frames != 0u) || (memcmp(one, ",
    ),
    "blocks of frames are read from their first channel alone": (
        "tcuq_health.c", "&frames[c], health->width", "frames, health->width",
        "broken promise: memcmp(one, other, sizeof one) == 0",
    ),
    "a group wider than its sums is taken": (
        "tcuq_health.h", "MAX_CHANNELS 64u", "MAX_CHANNELS 65u",
        "broken promise: tcuq_health_init(&first.health) == expected",
    ),
    "an alarm keeps the evidence that raised it": (
        "tcuq_alarm.c", "        states[i].evidence_q3 = 0u;\n", "",
        "broken promise: state->evidence_q3 == to.states[i].evidence_q3",
    ),
    "full counts are not halved": (
        "tcuq_alarm.c", "(most > TCUQ_COUNT_MAX) &&", "(most > UINT16_MAX) &&",
        "broken promise: memcmp(state->counts, to.states[i].counts",
    ),
    "the block before is forgotten": (
        "tcuq_alarm.c", "TCUQ_RECENT_BLOCKS << TCUQ_RECENT_SHIFT", "0u",
        "broken promise: (state->sum == to.states[i].sum)",
    ),
    "the limit after a boot is ignored": (
        "tcuq_alarm.c", "(states[i].onset_q8 >= (int32_t)channels[i].boot_limit_q8)", "false",
        "broken promise: !(to->young && to->boot_must)",
    ),
    "since boot, the first channel is named instead of the one that alarms": (
        "tcuq_alarm.c", "TCUQ_ALARM_SINCE_BOOT | channels[i].flag",
        "TCUQ_ALARM_SINCE_BOOT | channels[0].flag",
        "broken promise: to->young && ((decision->alarm & TCUQ_ALARM_SINCE_BOOT) != 0u)",
    ),
    "an epoch is one step too long": (
        "tcuq_epoch.c", "if (steps < left)", "if (steps <= left)",
        "broken promise: (core->epoch == to.core.epoch)",
    ),
    "epochs are numbered from 0 again": (
        "tcuq_epoch.c", "(core->epoch == UINT16_MAX) ? 1u", "(core->epoch == UINT16_MAX) ? 0u",
        "broken promise: (core->epoch == to.core.epoch)",
    ),
    "drift that ended leaves no evidence": (
        "tcuq_epoch.c", "tcuq_saturate_16(tcuq_log_add(state->span_q8, onset))", "state->span_q8",
        "broken promise: holds(to.spans[i], state->span_q8)",
    ),
    "an epoch's e-value is a sum over channels": (
        "tcuq_epoch.c", "total - tcuq_channels_q8[profile->channel_count]", "total",
        "broken promise: ",
    ),
    "another health statistic is named as the cause": (
        "tcuq_health_signal.c", "((score >> 1) << 4) | j", "((score >> 1) << 4) | (j ^ 1u)",
        "broken promise: signals->health_worst == worst",
    ),
    "a step without health counts for its channel": (
        "tcuq_alarm.c", "(signals->health_given ? (1u << TCUQ_HEALTH) : 0u)", "(1u << TCUQ_HEALTH)",
        "broken promise: (state->sum == to.states[i].sum)",
    ),
    "a gap drops unfinished blocks": (
        "tcuq_monitor.c", "    tcuq_signals_reset(monitor);\n",
        "    tcuq_signals_reset(monitor);\n    tcuq_alarm_reset(monitor);\n",
        "broken promise: (states == NULL) || (memcmp(before, states, size) == 0)",
    ),
    "a restored count of 0 is not refused": (
        "tcuq_restore.c", " &&\n           tcuq_counts_sound(state->counts)", "",
        "broken promise: (status != TCUQ_OK) || possible",
    ),
    "a restored epoch may have ended": (
        "tcuq_restore.c", "(core->epoch_steps >= profile->epoch_steps)",
        "(core->epoch_steps > profile->epoch_steps)",
        "broken promise: (status != TCUQ_OK) || possible",
    ),
}  # fmt: skip

DSP_BUGS = {
    "four bytes are taken where fewer are left": (
        "tcuq_features.c", "fours = count / 4u;", "fours = (count + 3u) / 4u;",
        "AddressSanitizer: heap-buffer-overflow",
    ),
    "a weight of the chords is another one": (
        "tcuq_posterior.c", "0x00020002u", "0x00010002u",
        "broken promise: ",
    ),
}  # fmt: skip


def seed_bug(runtime: Path, name: str, old: str, new: str) -> None:
    """Put a bug into a copy of the runtime; the text it replaces must be there, once."""
    text = (runtime / name).read_text("utf-8")
    assert text.count(old) == 1, f"{name} no longer has {old!r}: bring the seeded bug up to date"
    (runtime / name).write_text(text.replace(old, new), "utf-8")


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A copy of the runtime's sources."""
    copy = tmp_path / "runtime"
    shutil.copytree(RUNTIME, copy, ignore=shutil.ignore_patterns("*.so", "*.py*", "__pycache__"))
    return copy


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the fuzzer of the true runtime was built."""
    folder = tmp_path_factory.mktemp("build")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The inputs in the repository and the seeds."""
    folder = tmp_path_factory.mktemp("seeds")
    write(folder)
    return [CORPUS, folder]


def rebuilt(objects: Path, source: Path, folder: Path) -> Path:
    """The fuzzer with one source compiled anew."""
    shutil.copytree(objects, folder, ignore=shutil.ignore_patterns("fuzzer"))
    changed = sorted(source.parent.glob("*.c")) if source.suffix == ".h" else [source]
    compile_watched(folder, changed)
    return link(folder)


def test_kept_inputs_find_nothing_in_the_true_runtime(objects: Path, corpus: list[Path]) -> None:
    """What follows is caught because it was seeded: without it, nothing is found."""
    outcome = replay(objects / "fuzzer", corpus)
    assert outcome.finding == ""
    assert outcome.executions >= sum(1 for folder in corpus for _ in folder.iterdir())


@pytest.mark.parametrize("bug", BUGS)
def test_kept_inputs_show_the_bug(
    bug: str, objects: Path, corpus: list[Path], runtime: Path, tmp_path: Path
) -> None:
    """Running the kept inputs, in a second or two, stops at the bug and says what it is."""
    name, old, new, message = BUGS[bug]
    seed_bug(runtime, name, old, new)
    fuzzer = rebuilt(objects, runtime / name, tmp_path / "build")
    assert message in replay(fuzzer, corpus).finding


def test_fuzzing_finds_what_no_kept_input_shows(
    objects: Path, runtime: Path, tmp_path: Path
) -> None:
    """From one input that does not show a bug, mutation comes to one that does, within seconds."""
    name, old, new, _ = BUGS["the ring ends one slot too late"]
    seed_bug(runtime, name, old, new)
    fuzzer = rebuilt(objects, runtime / name, tmp_path / "build")
    start = tmp_path / "start"
    start.mkdir()
    (start / "idle").write_bytes(MODELS["tcuq"].encode())
    assert replay(fuzzer, [start]).finding == ""
    assert "SUMMARY: " in fuzz(fuzzer, [start], MOST_SECONDS).finding


@pytest.mark.parametrize("bug", DSP_BUGS)
def test_the_code_for_dsp_instructions_is_attacked_too(
    bug: str, corpus: list[Path], runtime: Path, tmp_path: Path
) -> None:
    """What only a CPU with DSP instructions would do is seen on the host, beside the plain C."""
    name, old, new, message = DSP_BUGS[bug]
    seed_bug(runtime, name, old, new)
    assert message in replay(build_pair(tmp_path / "build", runtime), corpus).finding


def test_a_cast_left_out_is_a_warning(runtime: Path) -> None:
    """A 32-bit sum returned as 16 bits without a cast stops gcc and clang."""
    old = "return (uint16_t)(tcuq_sigmoid((int32_t)(total_q18 >> 2) + profile->bias_q16) >> 2);"
    seed_bug(runtime, "tcuq_score.c", old, old.replace("(uint16_t)", ""))
    messages = list(complaints(runtime, ["gcc", "clang"], ["everything"]))
    assert len(messages) == 2
    assert "-Werror=conversion" in messages[0]
    assert "-Wimplicit-int-conversion" in messages[1]


def test_a_deviation_that_is_not_listed_fails(runtime: Path) -> None:
    """An if without braces breaks a rule of MISRA that the list does not name."""
    old = "if (!asked) {\n        return (uint8_t)TCUQ_ACCEPT;\n    }"
    seed_bug(runtime, "tcuq_budget.c", old, old.replace(" {", "").replace("\n    }", ""))
    for source in runtime.glob("*.c"):
        if source.name != "tcuq_budget.c":  # one file is enough, and quick
            source.unlink()
    by_rule = violations(runtime)
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
    seed_bug(
        runtime,
        "tcuq_epoch.c",
        "- tcuq_channels_q8[profile->channel_count]",
        "- tcuq_channels_q8[6]",
    )
    assert "arrayIndexOutOfBounds" in plain_findings(runtime)
