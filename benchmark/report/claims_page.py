# SPDX-License-Identifier: Apache-2.0
"""Every table and figure of the paper, in its order."""

import json
from operator import gt, lt
from pathlib import Path

from benchmark.report.claims import (
    CLOSE,
    METHODS,
    Claim,
    Pair,
    comparison_claim,
    lead_claim,
    leads,
    method_means,
    method_values,
    page,
    paper,
    verdict_of,
)
from benchmark.report.results import TITLES, by_seed, mean, probability_kind

HALF = 0.5
FIRMWARE = Path(__file__).resolve().parents[2] / "results" / "firmware.json"
DROPS, SHUFFLED = "accuracy-drops-coherent-streams", "accuracy-drops-shuffled-iid-streams"
FAILURES = "failures-in-distribution-auroc-wrong-against-correct-predictions"
OOD = "out-of-distribution-samples-auroc-against-correct-predictions"
SEVERITY = "cifar-10-c-by-severity-coherent-streams"
PROBABILITIES = "probabilities-in-distribution"
ABLATIONS = "ablations-of-the-papers-score"
NO_BOARD = "no board; instructions are counted in an emulator, flash and RAM are exact"
NO_TINYIMAGENET = "TinyImageNet's training set is not available (2,000 validation images are)"


def claims_page() -> dict[str, str]:
    """The page, by file name."""
    return {
        "claims.md": page([*_boards(), *_drops(), *_failures(), *_probabilities(), *_ablations()])
    }


def _boards() -> list[Claim]:
    rows = {row["what"]: row["measured"] for row in json.loads(FIRMWARE.read_text("utf-8"))["rows"]}
    step = rows["instructions a step, Cortex-M4, tcuq, 10 classes: mean"]
    flash = rows["flash bytes, Cortex-M4, tcuq (tcuq_init and tcuq_step)"]
    ram = rows["RAM bytes of state, tcuq, 10 classes"]
    measured = (
        f"the monitor takes {step} instructions per step on a Cortex-M4, {flash} bytes of flash"
        f" and {ram} of RAM. [Cost](../cost.md)"
    )
    return [
        Claim(
            "figures 1 and 2",
            "a diagram of the method",
            "nothing to measure; see [Concepts](../concepts.md)",
            "not testable here",
        ),
        Claim(
            "figure 3, tables of Big-MCU and Small-MCU",
            "30 to 45 % faster and 50 to 60 % smaller than ensembles; 1.1 to 9 ms and 5 to 13 KB"
            " above BASE",
            f"{NO_BOARD}: {measured} TCUQ needs one pass, the ensemble three or five, MC-dropout"
            " ten. The paper's tables disagree on the latency of one model (78, 59.5 and 8.9 ms)",
            "partly",
        ),
        Claim(
            "table of energy",
            "5.7 mJ against 8.1 and 9.3",
            "needs a board and a current measurement",
            "not testable here",
        ),
    ]


def _drops() -> list[Claim]:
    by_severity = paper()["accuracy_drop_by_severity"]["TCUQ"][-1]
    ours = method_values("cifar10", "drop AUPRC by severity/5", METHODS["TCUQ"], "coherent")
    severities = _severity_leads()
    return [
        lead_claim(
            "table of accuracy drops",
            "TCUQ best on MNIST-C (0.66) and SpeechCmd-C (0.63)",
            ("mnist", "speech"),
            "drop AUPRC",
            SHUFFLED,
        ),
        Claim(
            "figure of accuracy drops (b)",
            f"on CIFAR-10-C TCUQ leads at every severity, {by_severity:.2f} at severity 5",
            f"{mean([*ours.values()]):.2f} at severity 5; leads at {sum(severities)} of 5",
            verdict_of(severities),
            SEVERITY,
        ),
        Claim(
            "figure of accuracy drops (c)",
            "on TinyImageNet-C TCUQ leads, 0.86 at severity 5",
            NO_TINYIMAGENET,
            "not testable here",
        ),
        Claim(
            "figure of ResNet-50",
            "the same with ResNet-50 on TinyImageNet-C",
            NO_TINYIMAGENET,
            "not testable here",
        ),
        comparison_claim(
            "table of temperature scaling, AUPRC",
            "TCUQ above a temperature-scaled confidence on accuracy drops",
            {
                f"{TITLES[task]} {kind}": (
                    method_values(task, "drop AUPRC", METHODS["TCUQ"], kind),
                    by_seed("detection", task, "drop AUPRC", score="temperature", kind=kind),
                )
                for task in ("mnist", "speech", "cifar10")
                for kind in ("iid", "coherent")
            },
            gt,
            DROPS,
        ),
    ]


def _severity_leads() -> list[bool]:
    measures = [f"drop AUPRC by severity/{level}" for level in (1, 2, 3, 4, 5)]
    return [
        leads("cifar10", measure, "coherent")
        for measure in measures
        if method_means("cifar10", measure, "coherent")
    ]


def _failures() -> list[Claim]:
    tasks = ("mnist", "speech", "cifar10")
    base = method_means("mnist", "OOD AUROC", "iid").get("BASE", float("nan"))
    return [
        lead_claim(
            "table of failures, left",
            "TCUQ best or tied at telling wrong from correct predictions (0.88, 0.92, 0.87)",
            tasks,
            "failure AUROC",
            FAILURES,
        ),
        lead_claim(
            "table of failures, right",
            "TCUQ within 0.02 of the best on out-of-distribution samples (0.84, 0.91, 0.93)",
            tasks,
            "OOD AUROC",
            OOD,
            close=0.02,
        ),
        Claim(
            "table of failures, right",
            "BASE on MNIST against Fashion-MNIST has AUROC 0.07",
            f"{base:.2f}; 0.07 would be a good detector with the sign reversed",
            "refuted" if base > HALF else "reproduced",
            OOD,
        ),
    ]


def _posteriors(task: str, measure: str, one: str, other: str) -> Pair:
    """A measure of two methods' in-distribution probabilities."""
    where = {"kind": probability_kind(task)}
    return (
        by_seed("detection", task, f"probabilities/{measure}", score=one, **where),
        by_seed("detection", task, f"probabilities/{measure}", score=other, **where),
    )


def _probabilities() -> list[Claim]:
    tasks = ("mnist", "speech", "cifar10")
    return [
        comparison_claim(
            "table of calibration",
            "TCUQ's posterior (temporal assistance) has a lower NLL than BASE's",
            {TITLES[t]: _posteriors(t, "NLL", "tcuq assisted", "max_prob") for t in tasks},
            lt,
            PROBABILITIES,
        ),
        comparison_claim(
            "table of calibration",
            "on MNIST and SpeechCmd TCUQ has the lowest NLL of all, DEEP included",
            {TITLES[t]: _posteriors(t, "NLL", "tcuq assisted", "ensemble") for t in tasks[:2]},
            lt,
            PROBABILITIES,
        ),
        comparison_claim(
            "table of calibration, table of temperature scaling",
            "TCUQ's posterior has a lower NLL than a temperature-scaled one",
            {TITLES[t]: _posteriors(t, "NLL", "tcuq assisted", "temperature") for t in tasks},
            lt,
            PROBABILITIES,
        ),
        comparison_claim(
            "table of PostNet",
            "TCUQ's posterior has a lower NLL than a posterior network's",
            {
                TITLES[t]: _posteriors(t, "NLL", "tcuq assisted", "postnet")
                for t in ("mnist", "cifar10")
            },
            lt,
            PROBABILITIES,
        ),
        comparison_claim(
            "table of temporal assistance",
            "it lowers NLL on CIFAR-10 (0.435 against 0.459)",
            {"CIFAR-10": _posteriors("cifar10", "NLL", "tcuq assisted", "max_prob")},
            lt,
            PROBABILITIES,
        ),
        Claim(
            "table of temporal assistance, TinyImageNet; figure of the number of exits",
            "NLL 3.81 against 4.74; best with 8 exits",
            f"{NO_TINYIMAGENET}; the number of exits is varied on MNIST",
            "not testable here",
            ABLATIONS,
        ),
        Claim(
            "figure of convergence",
            "the loss falls equally with and without assistance",
            "the figure's two curves are formulas in the paper's source, not measurements; ours are"
            " in the training logs",
            "not testable here",
        ),
    ]


def _ablations() -> list[Claim]:
    def ablated(variant: str, other: str = "tcuq") -> dict[str, Pair]:
        return {
            TITLES[task]: (
                by_seed("ablations", task, "drop AUPRC", variant=other),
                by_seed("ablations", task, "drop AUPRC", variant=variant),
            )
            for task in ("mnist", "speech", "cifar10", "hapt", "gas")
        }

    return [
        comparison_claim(
            "table of ablations, No-Temporal",
            "temporal signals raise the accuracy-drop AUPRC (0.54 against 0.46)",
            ablated("without any temporal signal"),
            lambda a, b: a > b + CLOSE,
            ABLATIONS,
        ),
        comparison_claim(
            "table of ablations, Frozen-Weights",
            "a fitted combiner is better than a frozen one (0.54 against 0.53)",
            ablated("combiner frozen at equal weights"),
            gt,
            ABLATIONS,
        ),
        Claim(
            "table of ablations, No-Conformal",
            "without the streaming threshold the AUPRC falls (0.50 against 0.54)",
            "the AUPRC ranks the score, which no threshold changes. The abstention requests do"
            " change: see their rows with an adaptive and a frozen threshold",
            "no effect possible",
            ABLATIONS,
        ),
        comparison_claim(
            "table of ablations, text",
            "an adaptive threshold helps to detect the shift",
            ablated(
                "abstention requests, frozen threshold", "abstention requests, adaptive threshold"
            ),
            gt,
            ABLATIONS,
        ),
        Claim(
            "threats to validity",
            "results are stable for a window W of 12 to 24",
            "only steps at the lags are read, so W beyond the longest lag changes nothing; the"
            " runtime stores no more",
            "no effect possible",
        ),
        comparison_claim(
            "text on temporal assistance",
            "assistance sharpens the temporal score",
            ablated("tcuq", "temporal assistance"),
            gt,
            ABLATIONS,
        ),
        comparison_claim(
            "table of the final exit",
            "an early-exit ensemble without its last exit is worse (F1 0.818 against 0.854)",
            {
                TITLES[t]: _posteriors(t, "F1", "exits", "exits without the last")
                for t in ("mnist", "speech", "cifar10")
            },
            gt,
            PROBABILITIES,
        ),
        comparison_claim(
            "table of exit heads",
            "early exits with full heads are better than with light ones (F1 0.852 against 0.788)",
            {TITLES[t]: _posteriors(t, "F1", "exits", "light exits") for t in ("mnist", "cifar10")},
            gt,
            PROBABILITIES,
        ),
    ]
