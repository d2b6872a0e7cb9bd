# SPDX-License-Identifier: Apache-2.0
"""Every table and figure of the paper, in its order."""

import json
from collections import Counter
from typing import get_args

from results.result import RESULTS
from tcuq_benchmark.report.claims import Claim
from tcuq_benchmark.report.detection_claims import detection_claims
from tcuq_benchmark.report.results import table, text
from tcuq_benchmark.report.training_claims import training_claims
from tcuq_benchmark.report.verdict import Verdict


def claims_page() -> dict[str, str]:
    """Return the page, by file name."""
    claims = all_claims()
    counts = Counter(claim.verdict for claim in claims)
    summary = ", ".join(f"{counts[v]} {v}" for v in get_args(Verdict) if counts[v])
    head = ["in the paper", "its claim", "what we measured", "verdict"]
    body = table(head, [claim.cells() for claim in claims])
    return {"claims.md": f"{text('claims')}\n{summary}.\n\n{body}"}


def all_claims() -> list[Claim]:
    """Every row."""
    return [*_boards(), *detection_claims(), *training_claims()]


def _boards() -> list[Claim]:
    firmware = json.loads((RESULTS / "firmware.json").read_text("utf-8"))
    rows = {row["what"]: row["measured"] for row in firmware["rows"]}
    step = rows["instructions a step, Cortex-M4, tcuq, 10 classes: mean"]
    flash = rows["flash bytes, Cortex-M4, tcuq (tcuq_init and tcuq_step)"]
    ram = rows["RAM bytes of state, tcuq, 10 classes"]
    return [
        Claim(
            "figures 1 and 2",
            "a diagram of the method",
            "nothing to measure",
            "see [Concepts](../../docs/concepts.md)",
        ),
        Claim(
            "figure 3, tables of Big-MCU and Small-MCU",
            "30 to 45 % faster and 50 to 60 % smaller than ensembles; 1.1 to 9 ms and 5 to 13 KB"
            " above BASE",
            "not testable here",
            f"no board to run the networks on. The monitor alone takes {step} instructions per step"
            f" on an emulated Cortex-M4, {flash} bytes of flash and {ram} of RAM"
            " ([Cost](../../docs/cost.md)); TCUQ needs one pass, the ensemble three or five,"
            " MC-dropout ten. The paper's tables disagree on the latency of one model (78, 59.5 and"
            " 8.9 ms)",
        ),
        Claim(
            "table of energy",
            "5.7 mJ against 8.1 and 9.3",
            "not testable here",
            "needs a board and a current measurement",
        ),
    ]
