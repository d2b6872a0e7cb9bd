# SPDX-License-Identifier: Apache-2.0
"""The paper's claims on probabilities, temporal assistance and ablations."""

from tcuq_benchmark.report.claims import Claim
from tcuq_benchmark.report.comparisons import (
    METHODS,
    POSTERIORS,
    TCUQ,
    TIE,
    TIE_3,
    Measure,
    against_all,
    against_one,
    compare,
    posteriors,
)
from tcuq_benchmark.report.detection_claims import CONFIRMATION, SETS
from tcuq_benchmark.report.results import TITLES, probability_kind
from tcuq_benchmark.report.verdict import Comparison, Groups

PROBABILITIES = "probabilities-in-distribution"
ABLATIONS = "ablations-of-the-papers-score"
EXITS = "number-of-temporal-assistance-exits"
TINY = ("mnist", "speech")
SCORES = ("F1", "Brier / classes", "NLL")
EXIT_COUNTS = (2, 4, 6, 8, 10)
ABLATED_ON = ("mnist", "speech", "cifar10", "hapt", "gas")
IID = "iid"  # order does not matter for probabilities in distribution


def training_claims() -> list[Claim]:
    """Every row, in the paper's order."""
    return [
        *_calibration_table(),
        *_other_posteriors(),
        *_assistance(),
        *_exit_counts(),
        *_ablations(),
        *_exit_heads(),
    ]


def _lowest(column: str, tasks: tuple[str, ...], least: float) -> Groups:
    measure = Measure(f"probabilities/{column}", IID)
    return against_all(tasks, measure, least=least, methods=POSTERIORS)


def _calibration_table() -> list[Claim]:
    where = "table of calibration"
    best = [
        ("F1", "the highest F1 of all (0.957, 0.937)", TINY, 0.0),
        ("Brier / classes", "the lowest Brier score of all, or tied (0.008, 0.008)", TINY, TIE_3),
        ("NLL", "the lowest NLL of all, DEEP included (0.200, 0.201)", TINY, 0.0),
        ("ECE", "the lowest ECE of all, or tied (0.017)", ("speech",), TIE_3),
    ]
    claims = [
        Claim(
            f"{where}, {column.removesuffix(' / classes')}",
            f"on {' and '.join('MNIST' if t == 'mnist' else 'SpeechCmd' for t in tasks)} TCUQ has"
            f" {text}",
            _lowest(column, tasks, least),
            section=PROBABILITIES,
        )
        for column, text, tasks, least in best
    ]
    base = METHODS["BASE"]
    claims += [
        Claim(
            f"{where}, {column.removesuffix(' / classes')}",
            f"TCUQ's posterior (temporal assistance) has a {word}"
            f" {column.removesuffix(' / classes')} than BASE's",
            against_one(tasks, Measure(f"probabilities/{column}", IID), TCUQ, base),
            section=PROBABILITIES,
        )
        for column, word, tasks in (
            ("F1", "higher", SETS),
            ("Brier / classes", "lower", SETS),
            ("NLL", "lower", SETS),
            ("ECE", "lower", SETS[1:]),
        )
    ]
    return [*claims, _wide()]


def _wide() -> Claim:
    """TCUQ+, the capacity-matched network, on CIFAR-10."""

    def against(column: str, names: tuple[str, ...], least: float) -> list[Comparison]:
        measure = Measure(f"probabilities/{column}", IID)
        return [
            compare("cifar10", measure, "tcuq wide", METHODS[n], name=n, least=least) for n in names
        ]

    return Claim(
        "table of calibration, TCUQ+",
        "a capacity-matched TCUQ+ has on CIFAR-10 the best F1 (0.879), a Brier score tied with the"
        " best (0.017) and an NLL on par with DEEP's (0.368 against 0.365)",
        {
            "F1": against("F1", POSTERIORS, 0.0),
            "Brier": against("Brier / classes", POSTERIORS, TIE_3),
            "NLL": against("NLL", ("DEEP",), TIE),
        },
        section=PROBABILITIES,
    )


def _other_posteriors() -> list[Claim]:
    return [
        Claim(
            "table of temperature scaling",
            "TCUQ's posterior has a higher F1, a lower Brier score and a lower NLL than a"
            " temperature-scaled one",
            posteriors(SETS, IID, SCORES, TCUQ, "temperature"),
            section=PROBABILITIES,
        ),
        Claim(
            "table of PostNet",
            "TCUQ's posterior has a higher F1, a lower Brier score and a lower NLL than a posterior"
            " network's",
            posteriors(("mnist", "cifar10"), IID, SCORES, TCUQ, "postnet"),
            section=PROBABILITIES,
        ),
    ]


def _assistance() -> list[Claim]:
    kind = probability_kind(CONFIRMATION)
    return [
        Claim(
            "table of temporal assistance, CIFAR-10",
            "it lowers NLL (0.435 against 0.459) and the Brier score",
            posteriors(("cifar10",), IID, ("Brier / classes", "NLL"), TCUQ, METHODS["BASE"]),
            "Assisted networks train for 3 epochs more than BASE",
            section=PROBABILITIES,
        ),
        Claim(
            "table of temporal assistance, TinyImageNet",
            "it raises F1 (0.380 against 0.350) and lowers the Brier score and NLL (3.81 against"
            " 4.74)",
            posteriors((CONFIRMATION,), kind, SCORES, TCUQ, "max_prob"),
            "Against a control of equal epochs",
        ),
        Claim(
            "figure of convergence",
            "the loss falls equally with and without assistance",
            "nothing to measure",
            "the two curves are formulas in the figure's source, not measurements",
        ),
    ]


def _exit_counts() -> list[Claim]:
    nll = Measure("NLL", experiment="ablations", key="variant")

    def exits(count: int, other: str, name: str) -> Comparison:
        return compare("mnist", nll, f"temporal assistance, {count} exits", other, name=name)

    others = [exits(8, f"temporal assistance, {k} exits", f"{k}") for k in EXIT_COUNTS if k != 8]
    note = "The paper varies it on TinyImageNet, we on MNIST"
    return [
        Claim(
            "figure of the number of exits",
            "NLL is lowest with 8 exits",
            {"MNIST, 8 exits against another number": others},
            note,
            section=EXITS,
        ),
        Claim(
            "figure of the number of exits",
            "with 2, 4, 6, 8 or 10 exits NLL is below BASE's",
            {"MNIST": [exits(k, "tcuq", f"{k} exits") for k in EXIT_COUNTS]},
            note,
            section=EXITS,
        ),
    ]


def _ablations() -> list[Claim]:
    measure = Measure("drop AUPRC", experiment="ablations", key="variant")

    def ablated(variant: str, ours: str = "tcuq") -> Groups:
        return {TITLES[task]: [compare(task, measure, ours, variant)] for task in ABLATED_ON}

    where = "table of ablations"
    claims = [
        (f"{where}, No-Temporal",
         "temporal signals raise the accuracy-drop AUPRC (0.54 against 0.46)",
         ablated("without any temporal signal")),
        (f"{where}, Frozen-Weights",
         "a fitted combiner is better than a frozen one (0.54 against 0.53)",
         ablated("combiner frozen at equal weights")),
        (f"{where}, text",
         "an adaptive threshold helps to detect the shift",
         ablated("abstention requests, frozen threshold",
                 "abstention requests, adaptive threshold")),
        ("text on temporal assistance",
         "assistance sharpens the temporal score",
         ablated("tcuq", "temporal assistance")),
    ]  # fmt: skip
    return [
        *(Claim(place, text, groups, section=ABLATIONS) for place, text, groups in claims),
        Claim(
            f"{where}, No-Conformal",
            "without the streaming threshold the AUPRC falls (0.50 against 0.54)",
            "no effect possible",
            "the AUPRC ranks the score, which no threshold changes. The abstention requests do"
            " change: see their rows with an adaptive and a frozen threshold",
            section=ABLATIONS,
        ),
        Claim(
            "threats to validity",
            "results are stable for a window W of 12 to 24",
            "no effect possible",
            "only steps at the lags are read, so W beyond the longest lag changes nothing; the"
            " runtime stores no more",
        ),
    ]


def _exit_heads() -> list[Claim]:
    columns = ("F1", "NLL")
    return [
        Claim(
            "table of the final exit",
            "an early-exit ensemble without its last exit is worse (F1 0.818 against 0.854, NLL"
            " 0.561 against 0.446)",
            posteriors(SETS, IID, columns, "exits", "exits without the last"),
            section=PROBABILITIES,
        ),
        Claim(
            "table of exit heads",
            "early exits with full heads are better than with light ones (F1 0.852 against 0.788,"
            " NLL 0.452 against 0.641)",
            posteriors(("mnist", "cifar10"), IID, columns, "exits", "light exits"),
            section=PROBABILITIES,
        ),
    ]
