# SPDX-License-Identifier: Apache-2.0
"""Run the gallery's scripts and write their pages and figures: `make gallery`.

mkdocs-gallery and sphinx-gallery do the same inside one site builder; these pages are plain files,
so that every builder and every Git host shows them.
"""

import argparse
import ast
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs/gallery"
SCRIPTS = (
    "scikit_learn", "pytorch_tap", "keras_litert", "wake_word", "sensor_faults", "drifting_fleet",
)  # fmt: skip
NOTE = "<!-- Written by `python -m tools.site.gallery`; edit the script instead. -->"
INDEX = """
For anyone who wants to see the monitor at work before reading on. Each page is one script that runs
in less than a minute on one core, with the figure it draws and the text it prints.
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What a script printed, the figure it drew, and its CPU time."""

    output: str
    figure: bytes
    cpu_seconds: float


def run(name: str) -> Run:
    """Run a script in a folder of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    data = environment.get("TCUQ_DATA", "../shared/data")
    environment["TCUQ_DATA"] = str((ROOT / data).resolve())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, str(GALLERY / f"{name}.py")],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"docs/gallery/{name}.py fails: {result.stderr.strip()[-2000:]}")
        figure = (Path(folder) / f"{name}.png").read_bytes()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(result.stdout, figure, seconds)


def page(name: str, output: str) -> str:
    """Return a script's page: its text, its figure, what it printed, its code."""
    title, text = described(name)
    script = (GALLERY / f"{name}.py").read_text("utf-8")
    code = script.split('"""\n', 1)[-1].strip()
    return (
        f"{NOTE}\n# {title}\n\n{text}\n\n![{title}: what the script draws]({name}.png)\n\n"
        f"## What it prints\n\n```text\n{output.strip()}\n```\n\n"
        f"## The script\n\n[{name}.py]({name}.py)\n\n```python\n{code}\n```\n"
    )


def described(name: str) -> tuple[str, str]:
    """Return a script's title and the text under it."""
    docstring = ast.get_docstring(ast.parse((GALLERY / f"{name}.py").read_text("utf-8"))) or ""
    title, _, text = docstring.partition("\n\n")
    return title.removesuffix("."), text


def index() -> str:
    """Return the page that shows every figure with its first paragraph."""
    parts = [f"{NOTE}\n# Gallery\n{INDEX}"]
    for name in SCRIPTS:
        title, text = described(name)
        first = text.partition("\n\n")[0]
        figure = f"[![{title}]({name}.png)]({name}.md)"
        parts.append(f"## [{title}]({name}.md)\n\n{first}\n\n{figure}\n")
    return "\n".join(parts)


def main() -> None:
    """Write the pages of the named scripts, by default of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SCRIPTS)
    for name in parser.parse_args().names:
        result = run(name)
        (GALLERY / f"{name}.md").write_text(page(name, result.output), "utf-8")
        (GALLERY / f"{name}.png").write_bytes(result.figure)
        print(f"{result.cpu_seconds:5.1f} s  {len(result.figure):>8,} bytes  {name}", flush=True)
    (GALLERY / "index.md").write_text(index(), "utf-8")


if __name__ == "__main__":
    main()
