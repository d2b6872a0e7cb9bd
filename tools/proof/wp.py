# SPDX-License-Identifier: Apache-2.0
"""Frama-C's WP over one C source: which goals there are and which are proved.

A goal is a contract, a loop invariant or variant, or the absence of one overflow or wild access.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.firmware.toolchain import RUNTIME
from tools.proof import fewer_axioms

LEMMAS = "tcuq_acsl.h"
UNIT = "tcuq_math.c"
# Inline functions, proved once, and the source they are read with.
HEADERS = {
    LEMMAS: UNIT, "tcuq_simd.h": UNIT, "tcuq_internal.h": "tcuq_monitor.c",
    "tcuq_bytes.h": "tcuq_restore.c", "tcuq_products.h": "tcuq_novelty.c",
    "tcuq_copy.h": "tcuq_uplink_row.c", "tcuq_tag.h": "tcuq_sign.c",
}  # fmt: skip
PACKAGE = RUNTIME.parent  # has the folders of C sources
FOLDERS = ("runtime", "uplink", "ota")
UPLINK_SOURCES = (
    "tcuq_uplink_time.c", "tcuq_uplink_row.c", "tcuq_uplink_snapshot.c", "tcuq_uplink_stored.c",
    "tcuq_sign.c", "tcuq_uplink.c", "tcuq_uplink_keep.c",
)  # fmt: skip
BLOB, SLOTS = "tcuq_blob.c", "tcuq_slots.c"
OTA_SOURCES = ("tcuq_verify.c", BLOB, "tcuq_switch.c", SLOTS)
# What is done with a blob that is authentic: its bytes become members and tables of other types,
# which WP's memory does not have.
UNREAD = {BLOB: ("tcuq_blob_copy", "tcuq_blob_take", "tcuq_blob_scalars", "tcuq_blob_terms",
                 "tcuq_blob_channels", "tcuq_blob_point", "tcuq_blob_fill", "tcuq_blob_load"),
          SLOTS: ("tcuq_slot_load",),
          "tcuq_verify.c": ("tcuq_verify_hmac",)}  # fmt: skip
# The user's, not the checkout's: a proof that took hours is there for every clone of the same text.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tcuq-proof"
ANSWERS = CACHE / "goals"  # what the provers answered, by a goal's text
TABLES = "tcuq_tables.c"  # no code, but values; they swamp the provers where they are not needed
NEED_TABLES = (UNIT,)
TOOLS = ("frama-c", "why3", "z3", "cvc4")
STRICT = ("-warn-unsigned-overflow", "-warn-signed-overflow", "-warn-signed-downcast")
# What a function is meant to do and no other may: the warning that is off for it, and why.
MEANT = {
    "tcuq_telemetry_count": ("-warn-unsigned-overflow", "counters go on from 0 after 2^32 - 1"),
    "tcuq_multiply_quad": ("-warn-unsigned-overflow", "of a product the lower 32 bits are meant"),
    "tcuq_scale_up": (
        "-warn-unsigned-overflow",
        "bits shifted out of a negative product are meant",
    ),
    "tcuq_signed": ("-warn-signed-downcast", "the same bits: gcc and clang define it"),
    "tcuq_device_hash": ("-warn-unsigned-overflow", "of a product the lower 32 bits are meant"),
    "tcuq_back_off": ("-warn-unsigned-overflow", "bits shifted out of the random number are meant"),
} | dict.fromkeys(
    (
        "tcuq_time_begin",
        "tcuq_time_pass",
        "tcuq_time_turn",
        "tcuq_uplink_wait_s",
        "tcuq_uplink_encode",
        "tcuq_uplink_saved",
        "tcuq_uplink_restore",
        "tcuq_uplink_begin",
        "tcuq_switch_find",
        "tcuq_switch_write",
    ),
    ("-warn-unsigned-overflow", "differences of clocks and counts go on from 0 after 2^32 - 1"),
)
PARSE = ("frama-c", "-machdep", "x86_32")  # 32-bit pointers and int, as the devices have
SECONDS = 30  # for each goal and prover; a goal that is proved takes about one
# tcuq_signals_run and tcuq_step: that memory stays as it is while other memory changes
MORE_SECONDS = {"tcuq_internal.h": 120, "tcuq_monitor.c": 120}
# That a pointer is a function's, WP cannot say; that it is the one which `calls` names, it proves.
COMMAND = (*PARSE, "-wp", "-wp-rte", "-rte-no-pointer-call",
           "-wp-prover", "fewer,cvc4,z3", "-wp-par", "1")  # fmt: skip
# The prover of goals about memory, for Why3. Its version names the answers that are kept: with
# other axioms it gives others.
FEWER_AXIOMS_VERSION = hashlib.sha256(Path(fewer_axioms.__file__).read_bytes()).hexdigest()[:12]
FEWER_AXIOMS = f"""
[partial_prover]
name = "z3 with fewer axioms"
path = "/usr/bin/z3"
version = "{FEWER_AXIOMS_VERSION}"

[prover]
command = "{sys.executable} {Path(fewer_axioms.__file__)} %t %f"
driver = "z3_471"
editor = ""
in_place = false
interactive = false
name = "z3 with fewer axioms"
shortcut = "fewer"
version = "{FEWER_AXIOMS_VERSION}"
"""

FUNCTION = re.compile(r"^(?:[A-Za-z_]\w* )+\*?(tcuq_\w+)\([^;{]*\)\n\{", re.MULTILINE)
# What only a CPU with more instructions sees.
BY_CPU = re.compile(
    r"#if (?:TCUQ_DSP|TCUQ_FOURS|TCUQ_USE_ASM|TCUQ_AS_WIRE|TCUQ_STATE_AS_WIRE"
    r"|defined\(__ARM_FEATURE_CLZ\)|defined\(__ARM_ARCH_ISA_THUMB\))"
)
OUTCOME = re.compile(r"^\[wp\] \[[^\]]+\] Goal (\S+)(?: \([^)]*\))?( : Valid)?", re.MULTILINE)
COUNTS = re.compile(r"^\[wp\] Proved goals:\s+(\d+) / (\d+)", re.MULTILINE)
# What would make a proof say less than it seems to.
GAPS = re.compile(
    r"^.*(?:Missing assigns|Neither code nor spec|Cast with incompatible|[Dd]egenerated).*$",
    re.MULTILINE,
)
LOOP = re.compile(r"^\s*(?:\} )?(?:for|while) \(", re.MULTILINE)


class ProofError(RuntimeError):
    """The prover is not installed, or did not understand the source."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The goals of one source."""

    source: str
    proved: frozenset[str]
    unproved: frozenset[str]
    gaps: tuple[str, ...]  # loops without a variant, calls without a contract

    @property
    def total(self) -> int:
        """How many goals there are."""
        return len(self.proved) + len(self.unproved)


def versions() -> dict[str, str]:
    """Return the version of each tool."""
    options = {"frama-c": "-version", "why3": "--version", "z3": "--version", "cvc4": "--version"}
    return {
        tool: _run([tool, option], environment=_environment()).splitlines()[0].strip()
        for tool, option in options.items()
    }


def configure(folder: Path) -> dict[str, str]:
    """Return an environment in which Why3 knows the provers installed here, and no others."""
    environment = _environment() | {"WHY3CONFIG": str(folder / "why3.conf")}
    _run(["why3", "config", "detect"], environment=environment)
    with (folder / "why3.conf").open("a", encoding="utf-8") as known:
        known.write(FEWER_AXIOMS)
    return environment


def _environment() -> dict[str, str]:
    # Debian's z3 first: the one that comes with z3-solver is newer than Why3 knows.
    return os.environ | {"PATH": f"/usr/bin:{os.environ['PATH']}"}


def sources() -> list[str]:
    """Return the names of all sources with something to prove."""
    names = sorted({p.name for p in RUNTIME.glob("tcuq*.c")} - {TABLES})
    return [*HEADERS, *names, *UPLINK_SOURCES, *OTA_SOURCES]


def locate(source: str, package: Path = PACKAGE) -> Path:
    """Return the file of a source."""
    return next(p for p in (package / folder / source for folder in FOLDERS) if p.exists())


def functions(text: str) -> list[str]:
    """Return the functions a source defines, as a CPU without DSP instructions sees it."""
    return list(dict.fromkeys(FUNCTION.findall(plain(text))))


def plain(text: str) -> str:
    """Return a source without what only a CPU with more instructions sees."""
    return _divided(text)[0]


def unread(text: str) -> list[str]:
    """Return the conditions of the parts of a source that the prover does not read."""
    return _divided(text)[1]


def _divided(text: str) -> tuple[str, list[str]]:
    lines, conditions = [], []
    inside, depth, condition = 0, 0, ""  # `inside` is the depth of the part that is left out
    for line in text.splitlines(keepends=True):
        opens = line.startswith("#if")
        depth += opens
        if opens and not inside and BY_CPU.match(line):
            inside, condition = depth, line.removeprefix("#if ").partition("/*")[0].strip()
        elif inside == depth and line.startswith(("#else", "#endif")):
            inside = 0
        elif not inside:
            lines.append(line)
        elif not line.startswith("#") and condition not in conditions:  # code, not only macros
            conditions.append(condition)
        depth -= line.startswith("#endif")
    return "".join(lines), conditions


def forget_timeouts(answers: Path) -> None:
    """Remove answers that did not come in time: on a machine with less to do they may."""
    for path in answers.glob("*.json"):
        with suppress(FileNotFoundError):  # another run forgets it as well
            if '"timeout"' in path.read_text("utf-8"):
                path.unlink()


def prove(
    source: str,
    environment: dict[str, str],
    *,
    package: Path = PACKAGE,
    only: Sequence[str] = (),
    limit: int | None = None,
) -> Proof:
    """Prove every goal of a source, or of some of its functions, by the source's limit or another.

    `limit` is in seconds, for each goal and prover.
    """
    ANSWERS.mkdir(parents=True, exist_ok=True)
    forget_timeouts(ANSWERS)
    command = [*COMMAND, "-wp-timeout", str(limit or seconds(source)), "-wp-cache", "update",
               "-wp-cache-dir", str(ANSWERS), *_input(source, package)]  # fmt: skip
    printed = [
        _run([*command, *options], environment=environment)
        for options in runs(source, package=package, only=only)
    ]
    gaps = [line.strip() for text in printed for line in GAPS.findall(text)]
    gaps += [] if only else unseen(source, package)
    results = [read(text) for text in printed]
    return Proof(
        source,
        frozenset[str]().union(*(proved for proved, _ in results)),
        frozenset[str]().union(*(unproved for _, unproved in results)),
        tuple(dict.fromkeys(gaps)),
    )


def parsed(source: str, package: Path = PACKAGE) -> str:
    """Return the code and contracts that a source's proof is of, as Frama-C reads them."""
    unused = ["-remove-unused-specified-functions"] if source not in HEADERS else []
    return _run([*PARSE, "-verbose", "0", *unused, *_input(source, package), "-print"])


def _input(source: str, package: Path) -> Iterator[str]:
    """Yield the source's file and the preprocessor's options."""
    unit = HEADERS.get(source, source)
    # The contracts of the step are of builds for classifiers; functions of outputs have their own.
    given = ["-DTCUQ_WITH_OUTPUTS=0", *(f"-I{package / folder}" for folder in FOLDERS)]
    given += ["-include", str(package / "runtime" / TABLES)] if unit in NEED_TABLES else []
    yield f"-cpp-extra-args={' '.join(given)}"
    yield str(locate(unit, package))


def seconds(source: str) -> int:
    """Return the limit for each goal of a source and each prover."""
    return MORE_SECONDS.get(source, SECONDS)


def runs(source: str, *, package: Path = PACKAGE, only: Sequence[str] = ()) -> Iterator[list[str]]:
    """Yield options of one run for the functions that get all warnings, and for each other one."""
    names = list(only) or functions(_text(source, package))
    strict = [name for name in names if name not in MEANT]
    if source == LEMMAS:
        yield ["-wp-prop=@lemma"]
    if strict:
        yield [*STRICT, "-wp-prop=-@lemma", "-wp-fct", ",".join(strict)]
    for name in names:
        if name in MEANT:
            off, _ = MEANT[name]
            others = [warning for warning in STRICT if warning != off]
            yield [*others, "-wp-prop=-@lemma", "-wp-fct", name]


def read(text: str) -> tuple[set[str], set[str]]:
    """Read the names of the proved and the unproved goals from WP's output."""
    goals = {name: bool(valid) for name, valid in OUTCOME.findall(text)}
    proved = {name for name, valid in goals.items() if valid}
    counts = COUNTS.search(text)
    if counts is None or (len(proved), len(goals)) != (int(counts[1]), int(counts[2])):
        raise ProofError(f"cannot make out the goals in:\n{text[-2000:]}")
    return proved, goals.keys() - proved


def _text(source: str, package: Path) -> str:
    """Return a source without the bodies of the functions that are not read."""
    text = locate(source, package).read_text("utf-8")
    for name in UNREAD.get(source, ()):
        body = re.compile(
            rf"^(?:\w+ )+\*?{name}\([^;{{]*\)\n\{{\n.*?^\}}\n", re.MULTILINE | re.DOTALL
        )
        text, count = body.subn("", text)
        if count != 1:
            raise ProofError(f"{name} is defined {count} times; it must be once, or leave UNREAD")
    return text


def unseen(source: str, package: Path = PACKAGE) -> list[str]:
    """Return loops without a variant, and bodies of unknown functions."""
    code = plain(_text(source, package))
    loops, variants = len(LOOP.findall(code)), code.count("loop variant")
    bodies, known = len(re.findall(r"^\{", code, re.MULTILINE)), len(FUNCTION.findall(code))
    gaps = [] if loops <= variants else [f"{loops} loops, {variants} variants"]
    return gaps + ([] if bodies == known else [f"{bodies} bodies, {known} functions"])


def _run(command: Sequence[str], *, environment: dict[str, str] | None = None) -> str:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise ProofError(
            f"not installed: {', '.join(missing)}; on Debian: apt-get install"
            " --no-install-recommends frama-c-base why3 z3 cvc4 gcc"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ProofError(f"exit code {done.returncode}: {' '.join(command)}\n{done.stdout[-2000:]}")
    return done.stdout
