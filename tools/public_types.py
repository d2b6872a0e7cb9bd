# SPDX-License-Identifier: Apache-2.0
"""The public interface as type checkers see it: complete, and misspelt names and options fail."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEAST = 0.98  # share of public names whose type is known, by `pyright --verifytypes`
RIGHT = """
import tcuq

def make(stream: tcuq.Stream) -> tcuq.Profile:
    return tcuq.fit(stream, stream, preset="paper", alpha=0.1, budget=0.2, lags=[1, 2], seed=1)

def decide(path: str, stream: tcuq.Stream) -> list[int]:
    monitor = tcuq.Monitor(path)
    decision = monitor.step([0.5, 0.5], None)
    outcome: tcuq.Outcome = decision.outcome
    return [outcome.value, len(monitor.run(stream)), len(monitor.run([[0.5, 0.5]], starts=[0]))]

def measure(profile: tcuq.Profile, stream: tcuq.Stream) -> None:
    print(tcuq.evaluate(profile, stream), tcuq.demo_stream("test"), tcuq.errors.InputError)
"""
WRONG = (
    "tcuq.Monitr",
    "tcuq.evalute",
    "tcuq.errors.ImputError",
    "tcuq.fit(tcuq.Stream([[1.0, 0.0]]), aplha=0.1)",
    'tcuq.fit(tcuq.Stream([[1.0, 0.0]]), alpha="0.1")',
    "tcuq.fit(tcuq.Stream([[1.0, 0.0]]), terms=[1])",
)


def run(*command: str, folder: Path) -> str:
    """Return what a type checker prints, whatever its exit code."""
    # pyright takes libraries from the first python of the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words, environment = [sys.executable, "-m", *command], {**os.environ, "PATH": path}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def completeness() -> float:
    """Return the share of public names whose type is known."""
    text = run("pyright", "--verifytypes", "tcuq", "--ignoreexternal", "--outputjson",
               folder=ROOT / "src")  # fmt: skip
    score: float = json.loads(text)["typeCompleteness"]["completenessScore"]
    return score


def problems(folder: Path) -> list[str]:
    """Return what mypy and pyright accept although it is wrong, or refuse although it is right."""
    (folder / "right.py").write_text(RIGHT, "utf-8")
    (folder / "wrong.py").write_text("\n".join(["import tcuq", *WRONG]), "utf-8")
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(ROOT / "src")]}))
    checkers = {"mypy": ("mypy", "--strict"), "pyright": ("pyright",)}
    violations = []
    for name, command in checkers.items():
        if "error" in (text := run(*command, "right.py", folder=folder)).replace("0 errors", ""):
            violations.append(f"{name} refuses a right program: {text}")
        lines = run(*command, "wrong.py", folder=folder).splitlines()
        violations += [
            f"{name} accepts {wrong}"
            for number, wrong in enumerate(WRONG, start=2)
            if not any(f"wrong.py:{number}:" in line and "error" in line for line in lines)
        ]
    return violations


def main() -> None:
    """Check and complain."""
    score = completeness()
    with tempfile.TemporaryDirectory() as name:
        violations = problems(Path(name))
    if score < LEAST:
        violations.append(f"{score:.1%} of public names have a known type, below {LEAST:.0%}")
    print(f"{score:.1%} of public names have a known type; {len(violations)} problems")
    sys.exit("\n".join(violations) or 0)


if __name__ == "__main__":
    main()
