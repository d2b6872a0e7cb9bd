# SPDX-License-Identifier: Apache-2.0
"""The page of results: every score on every task, i.i.d. and coherent, with spread over seeds."""

from collections.abc import Mapping, Sequence

from benchmark.experiments.choosing import EXPLORED
from benchmark.experiments.result import Row
from benchmark.report.held import (
    TASKS,
    TITLES,
    calm_kind,
    detected,
    mean,
    rows,
    shown,
    table,
    values,
)
from benchmark.report.lines import line_chart
from benchmark.scores.table import DUMMIES, OURS, SCORES, SEVERAL, SINGLE_PASS

SEVERITIES = (1, 2, 3, 4, 5)
GROUPS: Mapping[str, Sequence[str]] = {
    "one pass": tuple(SINGLE_PASS),
    "more passes, heads or networks": tuple(SEVERAL),
    "ours": tuple(OURS),
    "know nothing": tuple(DUMMIES),
}
DRAWN = ("max_prob", "ensemble", "dropout", "exits", "hydra", "odin", "tcuq", "recommended")


INTRODUCTION = """# Results of the benchmark

Made by `python -m benchmark.report` from `benchmark/results`; do not edit. Every figure is the mean
over three networks and streams (seeds 0 to 2) ± their standard deviation; without a ±, of one. A
dash: not trained or not run for this task.

Protocol: windows of 100 steps; accuracy, by each method's own predictions, has dropped where it is
more than three standard deviations below the base network's mean on the calibration stream. (A
first run took mean and deviation of the test stream: on HAPT, gas and the watch set, whose people
and months differ so much, the limit then was 0.14 to 0.22 and hardly anything was a drop.) Each
corruption is a stream of its own: 1,000 clean steps, then 1,000 corrupted ones, severities rising
(MNIST-C: its published severity). In a coherent stream a label stays for 30 steps on average and
images are looked at by a wandering camera; HAPT and the watch set are in recorded order; gas drifts
by itself, month by month.
"""

CHOSEN = """The default's terms were chosen on development samples of all sets but watch, and on the
test samples of MNIST, Fashion-MNIST and HAPT, explored before (decision 0018). On the other four
most of the gain does not appear: scores that have seen labels (temperature, `tcuq`) are above it,
and of the label-free ones it is above the rest by a little. Accuracy drops, coherent, means:
"""
COMPARED = (
    *("max_prob", "temperature", "tcuq", "anchored", "H", "R1"),
    *("recommended", "recommended labelled"),
)


def results_page() -> dict[str, str]:
    """The page and its figures, by file name."""
    parts = [INTRODUCTION]
    for kind in ("coherent", "iid"):
        title = "coherent streams" if kind == "coherent" else "shuffled (i.i.d.) streams"
        parts += [
            f"## Accuracy drops, {title}\n",
            _command("detection"),
            _by_task("drop AUPRC", kind),
        ]
    parts += ["## Sets that the default was chosen on, and sets that not\n", CHOSEN, _chosen()]
    for measure, title in (
        ("failure AUROC", "Failures in distribution (AUROC, right against wrong)"),
        ("shifted failure AUROC", "Failures with half of the steps corrupted"),
        ("OOD AUROC", "Other things (AUROC, rightly predicted against out of distribution)"),
    ):
        parts += [f"## {title}\n", _by_task(measure, "coherent")]
        if measure != "shifted failure AUROC":
            parts += ["Shuffled streams:\n", _by_task(measure, "iid")]
    parts += ["## CIFAR-10-C by severity, coherent streams\n", "![](severity.svg)\n", _severities()]
    parts += ["## Probabilities in distribution\n", *_probabilities()]
    parts += ["## Fitted on one kind of stream, run on the other\n", *_transfer()]
    parts += ["## The paper's choices, one at a time\n", *_ablations()]
    parts += ["## Threshold, budget and arithmetic\n", *_streaming()]
    parts += ["## False alarms and delays\n", *_alarm()]
    parts += ["## Cost\n", *_cost()]
    return {"index.md": "\n".join(parts), "severity.svg": _severity_chart()}


def _command(experiment: str) -> str:
    ran = " ".join(task for task in TASKS if rows(experiment, task))
    return f"`python -m benchmark.experiments {experiment} {ran}`\n"


def _by_task(measure: str, kind: str) -> str:
    tasks = [task for task in TASKS if rows("detection", task)]
    body = []
    for group, names in GROUPS.items():
        body.append([f"*{group}*", *[""] * (len(tasks) + 1)])
        for name in names:
            cells = [values("detection", task, measure, score=name, kind=kind) for task in tasks]
            if any(cells):
                full = [mean(cell) for cell in cells if cell]
                average = f"**{mean(full):.3f}**".replace("0.", ".")
                whole = len(full) == len([t for t in tasks if _has(t, measure)])
                body.append([name, *map(shown, cells), average if whole else "–"])
    return table(["score", *(TITLES[task] for task in tasks), "mean"], body)


def _chosen() -> str:
    """Means over the sets whose test samples were looked at in choosing, and over the others."""
    groups = [[task for task in TASKS if (task in EXPLORED) == chosen] for chosen in (True, False)]
    head = ["score", *(", ".join(TITLES[task] for task in tasks) for tasks in groups)]
    body = [
        [
            name,
            *(shown([mean([detected(t, name, "drop AUPRC") for t in tasks])]) for tasks in groups),
        ]
        for name in COMPARED
    ]
    return table(head, body)


def _has(task: str, measure: str) -> bool:
    return any(row.get(measure) is not None for row in rows("detection", task))


def _by_severity(name: str) -> list[list[float]]:
    where = {"score": name, "kind": "coherent"}
    return [
        values("detection", "cifar10", f"drop AUPRC by severity/{level}", **where)
        for level in SEVERITIES
    ]


def _severities() -> str:
    body = []
    for name in SCORES:
        cells = _by_severity(name)
        if all(cells):
            body.append([name, *map(shown, cells)])
    return table(["score", *map(str, SEVERITIES)], body)


def _severity_chart() -> str:
    lines = {
        name: [mean(cell) for cell in _by_severity(name)]
        for name in DRAWN
        if all(_by_severity(name))
    }
    if not lines:
        return line_chart("not run", [1, 5], {}, x_name="severity", y_name="AUPRC")
    return line_chart(
        "Accuracy-drop AUPRC on CIFAR-10-C by severity, coherent streams",
        SEVERITIES,
        lines,
        x_name="severity",
        y_name="accuracy-drop AUPRC",
        bold=("tcuq", "recommended"),
    )


def _probabilities() -> list[str]:
    wanted = ("F1", "Brier", "Brier / classes", "NLL", "ECE")
    names = ("max_prob", "temperature", "dropout", "ensemble", "exits", "hydra", "postnet")
    parts = []
    for task in TASKS:
        body = []
        kind = calm_kind(task)
        for name in (*names, "tcuq assisted"):
            where = {"score": name, "kind": kind}
            cells = [values("detection", task, f"probabilities/{m}", **where) for m in wanted]
            if all(cells):
                title = "temporal assistance" if name == "tcuq assisted" else name
                body.append([title, *map(shown, cells)])
        if body:
            parts += [f"{TITLES[task]}, {kind}:\n", table(["posterior of", *wanted], body)]
    return parts


def _transfer() -> list[str]:
    cases = (
        ("iid", "iid"),
        ("coherent", "iid"),
        ("iid", "coherent"),
        ("coherent", "coherent"),
        ("other corruptions", "coherent"),
    )
    parts = [_command("transfer")]
    for task in TASKS:
        names = dict.fromkeys(row["score"] for row in rows("transfer", task))
        body = []
        for name in names:
            cells = [
                values("transfer", task, "drop AUPRC", score=name, fitted=one, run=other)
                for one, other in cases
            ]
            body.append([name, *map(shown, cells)])
        if body:
            heads = [f"{one} → {other}" for one, other in cases]
            parts += [f"{TITLES[task]}:\n", table(["score", *heads], body)]
    return parts


def _ablations() -> list[str]:
    tasks = [task for task in TASKS if rows("ablations", task)]
    names = dict.fromkeys(row["variant"] for task in tasks for row in rows("ablations", task))
    body = [
        [name, *(shown(values("ablations", task, "drop AUPRC", variant=name)) for task in tasks)]
        for name in names
    ]
    head = ["accuracy-drop AUPRC, coherent", *(TITLES[task] for task in tasks)]
    return [_command("ablations"), table(head, body)]


def _streaming() -> list[str]:
    measures = (
        "exceedance deviation",
        "worst window",
        "abstained",
        "worst window abstained",
        "requests, harsh shift",
        "error, harsh shift",
        "error among accepted, harsh shift",
        "device differs in label or outcome",
    )
    parts = [_command("streaming")]
    for task in TASKS:
        body = []
        for score in dict.fromkeys(row["score"] for row in rows("streaming", task)):
            for mode, warmup in (("guarded", 0), ("adaptive", 64)):
                where = {"score": score, "mode": mode, "warmup": warmup, "alpha": 0.1}
                cells = [values("streaming", task, m, **where) for m in measures]
                body.append([f"{score}, {mode}", *map(shown, cells)])
        if body:
            parts += [f"{TITLES[task]}, alpha 0.1, budget 0.15:\n", table(["", *measures], body)]
    return parts


def _cost() -> list[str]:
    names = (
        "passes",
        "extra parameters",
        "microseconds of NumPy a step",
        "instructions a step, Cortex-M4",
        "state bytes",
        "flash bytes",
    )
    body = [
        [row["score"], *(_amount(row.get(name)) for name in names)] for row in rows("cost", "mnist")
    ]
    told = "A backward pass counts as two. Ours are measured as firmware ([Cost](../cost.md)).\n"
    return [_command("cost"), told, table(["score", *names], body)]


def _amount(value: float | None) -> str:
    """Whole numbers whole, others with two digits."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


ALARM = """*parts*: calibrated on the calibration part, run on test samples, 12 calibrations of
80,000 steps each; *mixed*: both dealt anew from all samples, for HAPT within each person. Where a
count is over what is allowed the promise broke: on HAPT all of them come from one dealing of
people in twelve (two of twelve if mixed), whose run side holds people unlike any calibrated on.
The independent unit is the person, and there are too few. Delays are medians over onsets at
severity 4 (gas: later months), a dash where more than half were missed; *equal*: the detector's
limit was set, with the test streams in hand, to give no more false alarms than ours at h = 20.
Tried and not taken: counting a recording's blocks as fewer by how alike they are (Kish's design
effect); it left the broken dealing of HAPT as it was (21 false alarms at h = 20) and made alarms
later. Where a mend came from: on gas these very streams showed that a repeated row was in every
fold of the calibration (1,288 / 952 / 741 false alarms before).
"""


def _alarm() -> list[str]:
    tasks = [task for task in TASKS if rows("alarm", task)]
    promised = [
        [TITLES[task], row["dealing"], str(row["h"]), f"{row['steps']:,}", f"{row['allowed']:.1f}",
         str(row["false alarms"])]
        for task in tasks
        for row in rows("alarm", task)
        if row["what"] == "promise" and row["arithmetic"] == "device"
    ]  # fmt: skip
    delays = [
        [
            TITLES[task], row["detector"], row["signal"], row["limits"],
            f"{row['per million']:,.0f}", *_delay(row.get("severity 4") or row["drift"]),
        ]
        for task in tasks
        for row in rows("alarm", task)
        if row["what"] == "delays"
    ]  # fmt: skip
    return [
        _command("alarm"),
        ALARM,
        table(["set", "dealing", "h", "steps", "allowed", "false alarms"], promised),
        table(["set", "detector", "of", "limits", "false a million", "delay", "missed"], delays),
    ]


def _delay(row: Row) -> list[str]:
    median = row.get("median delay")
    return ["–" if median is None else f"{median:,.0f}", f"{row['missed']} of {row['onsets']}"]
