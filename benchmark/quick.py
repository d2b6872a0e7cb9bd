# SPDX-License-Identifier: Apache-2.0
"""The benchmark in small: train, look, judge, and compare with the committed result.

Gas drift, one seed: the whole way from data to rows in about a minute.
"""

import sys

from benchmark.data.files import is_present
from benchmark.experiments.detection import judged_rows
from benchmark.experiments.result import read
from benchmark.networks.zoo import trained
from benchmark.scenes.scene import Kind
from benchmark.scores.table import SCORES

TASK, SEED = "gas", 0
KIND: Kind = "coherent"
WITHIN = 0.02  # other processors round differently, and training amplifies it
MEASURES = ("drop AUPRC", "failure AUROC")


def main() -> int:
    """Say how each score compares with what is committed; 1 if any is off."""
    if not is_present("gas_drift"):
        print("no gas drift data here: see  python -m benchmark.data list")
        return 1
    trained(TASK, "base", SEED, train=True)
    entries = {name: entry for name, entry in SCORES.items() if entry.networks == ("base",)}
    held = {
        row["score"]: row
        for row in read("detection", TASK)["rows"]
        if (row["kind"], row["seed"]) == (KIND, SEED)
    }
    off = 0
    for row in judged_rows(TASK, KIND, SEED, entries):
        for measure in MEASURES:
            now, then = row[measure], held[row["score"]][measure]
            fits = abs(now - then) <= WITHIN
            off += not fits
            mark = "holds" if fits else "FAILS"
            print(f"{mark}  {row['score']}, {measure}: {now:.3f}, committed {then:.3f}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
