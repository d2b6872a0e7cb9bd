# SPDX-License-Identifier: Apache-2.0
"""The results page: every score on every task, i.i.d. and coherent, with spread over seeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tcuq.charts import Axis
from tcuq_benchmark.experiments.ablations import EXIT_COUNTS
from tcuq_benchmark.report.alarm_section import alarm_section
from tcuq_benchmark.report.comparisons import gain_by_set, gain_over_sets
from tcuq_benchmark.report.line_chart import line_chart
from tcuq_benchmark.report.losses import losses
from tcuq_benchmark.report.networks_section import networks_section
from tcuq_benchmark.report.results import (
    SELECTION_SETS,
    TASKS,
    TITLES,
    command,
    detection_mean,
    folded,
    mean,
    mean_and_spread,
    probability_kind,
    rows,
    table,
    text,
    values,
)
from tcuq_benchmark.scores.table import MULTI_PASS, OURS, SCORES, SINGLE_PASS, TRIVIAL

SEVERITIES = (1, 2, 3, 4, 5)
KINDS = {"coherent": "coherent streams", "iid": "shuffled (i.i.d.) streams"}
Cells = list[list[float]]  # of a row, one value per seed in each
POSTERIORS = {
    name: name
    for name in ("max_prob", "temperature", "dropout", "ensemble", "exits", "hydra", "postnet")
} | {"tcuq assisted": "temporal assistance", "tcuq wide": "temporal assistance, wide"}
STREAMING = (
    "exceedance deviation",
    "exceedance rate, worst window",
    "abstention rate",
    "abstention rate, worst window",
    "request rate, severe shift",
    "error, severe shift",
    "error among accepted, severe shift",
)
COSTS = (
    "passes",
    "extra parameters",
    "microseconds per step, host",
    "instructions per step, Cortex-M4",
    "state bytes",
    "flash bytes",
)
GROUPS: Mapping[str, Sequence[str]] = {
    "single pass": tuple(SINGLE_PASS),
    "several passes, heads or networks": tuple(MULTI_PASS),
    "ours": tuple(OURS),
    "trivial baselines": tuple(TRIVIAL),
}
# Variants of peers that were tried to be fair to them; their results stay in benchmark/results.
INTERNAL = ("exits without the last", "light exits")
CHARTED = ("max_prob", "ensemble", "dropout", "exits", "hydra", "odin", "tcuq", "recommended")


GLANCED = ("max_prob", "temperature", "ensemble", "tcuq", "recommended", "random")
MEASURES = {
    "accuracy drops, coherent": ("drop AUPRC", "coherent"),
    "accuracy drops, shuffled": ("drop AUPRC", "iid"),
    "wrong predictions, coherent": ("failure AUROC", "coherent"),
    "other inputs, coherent": ("OOD AUROC", "coherent"),
}
RIVALS = ("max_prob", "temperature", "ensemble", "tcuq")
COMPARED = ("max_prob", "temperature", "tcuq", "recommended", "recommended labelled")


def results_page() -> dict[str, str]:
    """Return the page and its figures, by file name."""
    parts = [text("results"), "## At a glance\n", text("glance"), _glance()]
    parts += ["## Where the default loses\n", text("losses"), losses(MEASURES, RIVALS)]
    for kind, title in KINDS.items():
        parts += [
            f"## Accuracy drops, {title}\n",
            command("detection"),
            _by_task("drop AUPRC", kind),
        ]
    parts += [
        "## Sets whose test samples were used to choose the default, and the others\n",
        text("selection"),
        _selection(),
    ]
    for measure, title in (
        ("failure AUROC", "Failures in distribution (AUROC, wrong against correct predictions)"),
        ("shifted failure AUROC", "Failures with half of the steps corrupted"),
        ("OOD AUROC", "Out-of-distribution samples (AUROC, against correct predictions)"),
    ):
        parts += [f"## {title}\n", _by_task(measure, "coherent")]
        if measure != "shifted failure AUROC":
            parts += ["Shuffled streams:\n", _by_task(measure, "iid")]
    parts += ["## Detection delay\n", text("delay")]
    for kind, title in (("coherent", "Coherent"), ("iid", "Shuffled")):
        parts += [f"{title} streams:\n", _by_task("delay/median", kind, digits=0)]
    parts += ["## CIFAR-10-C by severity, coherent streams\n", "![](severity.svg)\n", _severities()]
    parts += ["## Probabilities in distribution\n", *_probabilities()]
    parts += ["## Fitted on one kind of stream, run on the other\n", *_transfer()]
    parts += ["## Ablations of the paper's score\n", *_ablations()]
    parts += ["## Number of temporal-assistance exits\n", *_exits()]
    parts += ["## Threshold and budget\n", *_streaming()]
    parts += ["## False alarms and delays\n", *alarm_section()]
    parts += ["## Cost\n", *_cost()]
    parts += ["## Networks\n", *networks_section()]
    return {"index.md": "\n".join(parts), "severity.svg": _severity_chart()}


def _complete(rows: Iterable[tuple[str, Cells]]) -> list[list[str]]:
    """Return the rows of a table whose measures were all run."""
    return [[title, *map(mean_and_spread, cells)] for title, cells in rows if all(cells)]


def _glance() -> str:
    """Return the means of a few scores, which the tables below have in their last column."""
    body = []
    for name in GLANCED:
        cells = []
        for measure, kind in MEASURES.values():
            tasks = [values("detection", t, measure, score=name, kind=kind) for t in TASKS]
            cells.append(mean_and_spread([mean([mean(cell) for cell in tasks if cell])]))
        body.append([name, *cells])
    return table(["score", *MEASURES], body)


def _by_task(measure: str, kind: str, digits: int = 3) -> str:
    tasks = [task for task in TASKS if rows("detection", task)]
    measured = [task for task in tasks if values("detection", task, measure)]
    body = []
    for group, names in GROUPS.items():
        body.append([f"*{group}*", *[""] * (len(tasks) + 1)])
        for name in (name for name in names if name not in INTERNAL):
            cells = [values("detection", task, measure, score=name, kind=kind) for task in tasks]
            if any(cells):
                means = [mean(cell) for cell in cells if cell]
                complete = len(means) == len(measured)
                average = f"**{mean_and_spread([mean(means)], digits)}**" if complete else "–"
                body.append([name, *(mean_and_spread(cell, digits) for cell in cells), average])
    return folded("By task", ["score", *(TITLES[task] for task in tasks), "mean"], body)


def _selection() -> str:
    """Return means over the sets used to choose the default, over the others, and over all."""
    groups = [
        [task for task in TASKS if (task in SELECTION_SETS) == used] for used in (True, False)
    ]
    groups.append([task for task in TASKS if rows("detection", task)])
    titles = [", ".join(TITLES[task] for task in tasks) for tasks in groups[:2]]
    body = []
    for name in COMPARED:
        cells = [
            mean_and_spread([mean([detection_mean(t, name, "drop AUPRC") for t in tasks])])
            for tasks in groups
        ]
        if name != "tcuq":
            gains = [gain_over_sets(tasks, name, "tcuq") for tasks in groups]
            cells = [f"{cell}, {gain}" for cell, gain in zip(cells, gains, strict=True)]
        body.append([name, *cells])
    by_set = gain_by_set(groups[-1], "recommended", "tcuq")
    note = f"With sets as units, `recommended` is {by_set} above `tcuq` over {len(TASKS)} sets.\n"
    return table(["score", *titles, "all"], body) + "\n" + note


def _by_severity(name: str) -> Cells:
    where = {"score": name, "kind": "coherent"}
    return [
        values("detection", "cifar10", f"drop AUPRC by severity/{level}", **where)
        for level in SEVERITIES
    ]


def _severities() -> str:
    body = _complete((name, _by_severity(name)) for name in SCORES if name not in INTERNAL)
    return folded("By severity", ["score", *map(str, SEVERITIES)], body)


def _severity_chart() -> str:
    cells = {name: _by_severity(name) for name in CHARTED}
    lines = {name: list(map(mean, values)) for name, values in cells.items() if all(values)}
    severity = Axis(SEVERITIES[0], SEVERITIES[-1], "severity", [(s, str(s)) for s in SEVERITIES])
    auprc = Axis.linear(0.0, 1.0, "accuracy-drop AUPRC", count=5, text="{:.1f}".format)
    title = "Accuracy-drop AUPRC on CIFAR-10-C by severity, coherent streams"
    return line_chart(title, severity, auprc, lines, bold=("tcuq", "recommended"))


def _probabilities() -> Iterator[str]:
    measures = ("F1", "Brier", "Brier / classes", "NLL", "ECE")
    for task in TASKS:
        kind = probability_kind(task)
        body = _complete(
            (
                title,
                [
                    values("detection", task, f"probabilities/{m}", score=name, kind=kind)
                    for m in measures
                ],
            )
            for name, title in POSTERIORS.items()
        )
        if body:
            yield folded(f"{TITLES[task]}, {kind}", ["posterior of", *measures], body)


def _transfer() -> Iterator[str]:
    yield command("transfer")
    kinds = ("iid", "coherent")
    cases = [(one, other) for other in kinds for one in kinds] + [("other corruptions", kinds[1])]
    heads = [f"{one} → {other}" for one, other in cases]
    for task in TASKS:
        body = [
            [name]
            + [
                mean_and_spread(
                    values("transfer", task, "drop AUPRC", score=name, fitted=one, run=other)
                )
                for one, other in cases
            ]
            for name in dict.fromkeys(row["score"] for row in rows("transfer", task))
        ]
        if body:
            yield folded(TITLES[task], ["score", *heads], body)


def _ablations() -> Iterator[str]:
    yield command("ablations")
    tasks = [task for task in TASKS if rows("ablations", task)]
    names = dict.fromkeys(row["variant"] for task in tasks for row in rows("ablations", task))
    body = [
        [name]
        + [mean_and_spread(values("ablations", t, "drop AUPRC", variant=name)) for t in tasks]
        for name in names
    ]
    head = ["accuracy-drop AUPRC, coherent", *(TITLES[task] for task in tasks)]
    yield folded("By task", head, body)


def _exits() -> Iterator[str]:
    """Yield accuracy and NLL in distribution by the number of exits in training."""
    measures = ("accuracy", "NLL", "drop AUPRC")
    variants = {"none": "tcuq", "1": "temporal assistance"}
    variants |= {f"{count}": f"temporal assistance, {count} exits" for count in EXIT_COUNTS}
    body = _complete(
        (title, [values("ablations", "mnist", m, variant=name) for m in measures])
        for title, name in variants.items()
    )
    yield from ["MNIST:\n", table(["exits", *measures], body)] if body else ["Not run yet.\n"]


def _streaming() -> Iterator[str]:
    yield command("streaming")
    for task in TASKS:
        body = []
        for score in dict.fromkeys(row["score"] for row in rows("streaming", task)):
            for mode, warmup in (("guarded", 0), ("adaptive", 64)):
                where = {"score": score, "mode": mode, "warmup": warmup, "alpha": 0.1}
                cells = [values("streaming", task, m, **where) for m in STREAMING]
                body.append([f"{score}, {mode}", *map(mean_and_spread, cells)])
        if body:
            title = f"{TITLES[task]}, alpha 0.1, budget 0.15"
            yield folded(title, ["", *STREAMING], body)


def _cost() -> Iterator[str]:
    yield command("cost")
    cost = "([Cost](../../docs/cost.md))"
    yield f"A backward pass counts as two. Ours are measured as firmware {cost}.\n"
    body = [
        [row["score"], *(_amount(row.get(name)) for name in COSTS)]
        for row in rows("cost", "mnist")
        if row["score"] not in INTERNAL
    ]
    yield folded("By score", ["score", *COSTS], body)


def _amount(value: float | None) -> str:
    """Return an integer as it is, another number with two decimals."""
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
