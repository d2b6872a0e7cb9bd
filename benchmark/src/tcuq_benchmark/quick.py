# SPDX-License-Identifier: Apache-2.0
"""A quick check: run the detection experiment on one network, compare with committed rows.

Gas drift, one seed, about a minute.
"""

import sys

from tcuq_benchmark.data.files import is_present
from tcuq_benchmark.experiments.detection import rows_of_seed
from tcuq_benchmark.experiments.result import read_result
from tcuq_benchmark.networks.zoo import load_network
from tcuq_benchmark.scenarios.scenario import Kind
from tcuq_benchmark.scores.table import SCORES

TASK, SEED = "gas", 0
KIND: Kind = "coherent"
TOLERANCE = 0.02  # other processors round differently, and training amplifies it
MEASURES = ("drop AUPRC", "failure AUROC")


def main() -> int:
    """Print how each score compares with its committed row; return 1 if any differs."""
    if not is_present("gas_drift"):
        print("gas drift data not found: see  python -m tcuq_benchmark.data list")
        return 1
    load_network(TASK, "base", SEED, train=True)
    entries = {name: entry for name, entry in SCORES.items() if entry.networks == ("base",)}
    committed = {
        row["score"]: row
        for row in read_result("detection", TASK)["rows"]
        if (row["kind"], row["seed"]) == (KIND, SEED)
    }
    failures = 0
    for row in rows_of_seed(TASK, KIND, SEED, entries):
        for measure in MEASURES:
            value, expected = row[measure], committed[row["score"]][measure]
            within = abs(value - expected) <= TOLERANCE
            failures += not within
            mark = "holds" if within else "FAILS"
            print(f"{mark}  {row['score']}, {measure}: {value:.3f}, committed {expected:.3f}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
