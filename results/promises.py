# SPDX-License-Identifier: Apache-2.0
"""What is promised, for what it holds, and what checks it: the tables of README and concepts.

`--write` writes both tables; the scorecard's check fails where a document has another.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from results.result import ROOT
from tcuq.options import PaperOptions
from tcuq.profile.settings import BOOT_STEPS

BEGIN, END = "<!-- promises: python -m results.promises --write -->\n", "<!-- /promises -->"
EXCEEDANCES = round(1 / PaperOptions().ledger_step) + 1
MEASUREMENTS = "benchmark/src/tcuq_benchmark/measurements"


class Promise(NamedTuple):
    """A promise, its conditions, and the files that check it; README has the most important."""

    what: str
    holds_for: str
    checks: tuple[str, ...]
    in_readme: bool = True


PROMISES = (
    Promise(
        f"exceedances of the risk: in every window of n steps at most `alpha · n` + {EXCEEDANCES}",
        "any sequence, chosen by an adversary too; the default ledger step (with another,"
        " 1 + 1 / `ledger_step`), no reset in the window, no `promise`, whose threshold is fixed",
        ("tests/property/test_windows.py", "tools/measurements/bounds.py"),
    ),
    Promise(
        "abstentions that take a token: in every window of n steps at most `burst + budget · n`;"
        " further requests are denied, and withheld or used as `denied` says",
        "any sequence; a reset, or a reboot without a snapshot, fills the bucket again",
        ("tests/property/test_windows.py", "tools/measurements/bounds.py"),
    ),
    Promise(
        "alarm: averaged over calibrations, at most one false alarm in `steps_per_false_alarm`"
        f" steps, plus at most {BOOT_STEPS // 2} / `steps_per_false_alarm` per boot",
        "a block's chance of passing an edge depends on the past only through the last two blocks,"
        " and stays what calibration and this device have shown; `fit` rehearses it and warns",
        (f"{MEASUREMENTS}/alarm_calm.py", f"{MEASUREMENTS}/slow_dependence.py"),
    ),
    Promise(
        "calibrated on G recordings, about one newcomer in G + 1 may alarm at first, and is then"
        " learned",
        "recordings are exchangeable",
        (f"{MEASUREMENTS}/alarm_calm.py",),
        in_readme=False,
    ),
    Promise(
        "with labels and `promise=PromiseOptions(0.05)`: of what it accepts, at most 5 % is wrong,"
        " with 95 % confidence, as long as no alarm stands",
        "data like calibration; recordings, or steps thinned by how slowly they change, are"
        " independent; DENIED steps are not accepted",
        ("tests/property/test_acceptance.py", f"{MEASUREMENTS}/accepted_error.py"),
    ),
    Promise(
        "the same numbers step by step and in bulk, bit for bit, however a stream is cut",
        "always",
        ("tests/property/test_step_is_run.py",),
    ),
    Promise(
        "every tool and the device give the same labels, outcomes, alarms and step numbers",
        "the same file",
        ("tests/integration/test_one_answer.py", "tests/firmware/test_emulated.py"),
    ),
    Promise(
        "the device's signals are within stated bounds of the float reference's",
        "the same quantised inputs",
        ("tests/conformance/test_float_against_integer.py",),
    ),
    Promise(
        "a power cut with snapshot and restore changes no decision of the device",
        "always",
        ("tests/conformance/test_power_cut.py",),
        in_readme=False,
    ),
    Promise(
        "the epoch's evidence is the logarithm of an e-value",
        "each block's distribution, given the past, is dominated by the calibrated one; probability"
        " 0.95 over calibrations",
        ("tests/statistical/test_alarm_promise.py",),
        in_readme=False,
    ),
    Promise(
        "no record is lost or counted twice, even if worker, broker or database are killed",
        "devices run the uplink",
        ("fleet/measurements/faults.py", "fleet/tests/test_worker.py"),
    ),
    Promise(
        "of the devices reported as changed, an expected share of at most `level` is as before",
        "a healthy device's change is exchangeable with its calm peers' of earlier epochs",
        (
            "fleet/tests/unit/test_change.py",
            "benchmark/src/tcuq_benchmark/measurements/fleet_changes.py",
        ),
    ),
    Promise(
        "of the devices reported as unlike calibration, an expected share of at most `level` is"
        " like it",
        "each device's epoch e-value is one, which a healthy device of another user may break; any"
        " dependence between devices",
        ("fleet/tests/unit/test_ebh.py", "fleet/measurements/discovery.py"),
    ),
    Promise(
        "a damaged or foreign profile is refused in one line",
        "always",
        ("tests/property/test_loader.py",),
    ),
    Promise(
        "a saved and loaded profile decides the same, bit for bit",
        "always",
        ("tests/unit/test_profile.py",),
        in_readme=False,
    ),
    Promise(
        '`preset="paper"` is the paper\'s equations',
        "always",
        ("tests/unit/test_paper.py",),
        in_readme=False,
    ),
)
DOCUMENTS = {"README.md": "", "docs/concepts.md": "../"}


def table(to_root: str) -> Iterator[str]:
    """Yield the lines of a table in a document at the root, or below it."""
    yield "| promise | holds for | checked by |"
    yield "|---|---|---|"
    for promise in PROMISES:
        if promise.in_readme or to_root:
            links = ", ".join(f"[{Path(path).name}]({to_root}{path})" for path in promise.checks)
            yield f"| {promise.what} | {promise.holds_for} | {links} |"


def with_table(document: str) -> str:
    """Return a document's text with its table as it must be."""
    text = (ROOT / document).read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{document} must have {BEGIN.strip()} and {END}")
    return before + begin + "\n".join(table(DOCUMENTS[document])) + "\n" + end + after


def complaints() -> Iterator[str]:
    """Yield the documents whose table is another, and the checks that are not there."""
    for document in DOCUMENTS:
        if (ROOT / document).read_text("utf-8") != with_table(document):
            yield f"{document} has another table of promises: python -m results.promises --write"
    for path in sorted({path for promise in PROMISES for path in promise.checks}):
        if not (ROOT / path).is_file():
            yield f"results/promises.py names {path}, which is no file"


def main() -> None:
    """Print the table of all promises; with --write, write it to the documents."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    if not parser.parse_args().write:
        print("\n".join(table("../")))
        return
    for document in DOCUMENTS:
        (ROOT / document).write_text(with_table(document), "utf-8")


if __name__ == "__main__":
    main()
