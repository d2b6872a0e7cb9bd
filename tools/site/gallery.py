# SPDX-License-Identifier: Apache-2.0
"""Run the gallery's scripts; write their pages, figures and notebooks: `make gallery`.

mkdocs-gallery and sphinx-gallery do the same inside one site builder; these pages are plain files,
so that every builder and every Git host shows them.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.cpu_time import children_seconds

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs/gallery"
SCRIPTS = (
    "scikit_learn", "pytorch_tap", "keras_litert", "wake_word", "sensor_faults", "drifting_fleet",
    "bearing_autoencoder", "gas_regression",
)  # fmt: skip
NOTEBOOKS = ("scikit_learn", "pytorch_tap", "drifting_fleet")
SECTION = re.compile(r"^(?=# \d\. )", re.MULTILINE)
COMMENT = re.compile(r"(?:# .*\n)+")  # of a section: its heading, then its text
NEEDS = re.compile(r"^Needs `pip install ([^`]+)`.*", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\((?!https:)[^)]+\)")
# Cells one after another, as a kernel runs them, but with a traceback that ends the process. The
# line that installs is IPython's: a kernel's test runner and its 27 packages would add that alone.
RUN_CELLS = """
import json, sys
names = {"__name__": "__main__"}
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "code" and not source.startswith("%pip "):
        exec(compile(source, cell["id"], "exec"), names)
"""
NOTE = "<!-- Written by `python -m tools.site.gallery`; edit the script instead. -->"
INDEX = """
For anyone who wants to see the monitor at work before reading on. Each page is one script that runs
in less than a minute on one core, with the figure it draws and the text it prints. Three of them
are notebooks too, for JupyterLab or a hosted service: {}.
"""
HOSTED = """
As a notebook, to upload to a hosted service such as Google Colab: [{0}.ipynb]({0}.ipynb).
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What a script printed, the figure it drew, and its CPU time."""

    output: str
    figure: bytes
    cpu_seconds: float


def run(name: str) -> Run:
    """Run a script, or its notebook's cells, in a folder of its own."""
    cells = ["-c", RUN_CELLS, str(GALLERY / f"{name}.ipynb")]
    program = cells if name in NOTEBOOKS else [str(GALLERY / f"{name}.py")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    data = environment.get("TCUQ_DATA", "../shared/data")
    environment["TCUQ_DATA"] = str((ROOT / data).resolve())
    before = children_seconds()
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            [sys.executable, *program],
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"docs/gallery/{name}.py fails: {result.stderr.strip()[-2000:]}")
        figure = (Path(folder) / f"{name}.png").read_bytes()
    return Run(result.stdout, figure, children_seconds() - before)


def code_of(name: str) -> str:
    """Return a script's code, without its docstring."""
    return (GALLERY / f"{name}.py").read_text("utf-8").split('"""\n', 1)[-1].strip()


def notebook(name: str) -> str:
    """Return a script as a notebook without outputs: its text, the installation, its sections."""
    title, text = described(name)
    needs = NEEDS.search(text)
    if needs is None:
        raise ValueError(f"docs/gallery/{name}.py must say what it needs: `pip install ...`")
    # No link to a file leads anywhere from a notebook that was uploaded.
    plain = LINK.sub(r"\1", NEEDS.sub("", text))
    cells = [_markdown(f"# {title}\n\n{plain}")]
    cells.append(_code(f"%pip install --quiet {needs[1]}"))
    before, *sections = SECTION.split(code_of(name))
    if before:
        raise ValueError(f"docs/gallery/{name}.py must begin with a numbered comment")
    for part in sections:
        comment = COMMENT.match(part)
        assert comment is not None  # noqa: S101 - a section begins with one; for the type checker
        heading, *rest = (line.removeprefix("# ") for line in comment[0].splitlines())
        cells.append(_markdown("\n".join((f"## {heading.removesuffix('.')}", "", *rest))))
        cells.append(_code(part.removeprefix(comment[0])))
    for number, cell in enumerate(cells):
        cell["id"] = f"{name}-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _markdown(text: str) -> dict[str, object]:
    lines = text.strip().splitlines(keepends=True)
    return {"cell_type": "markdown", "metadata": {}, "source": lines}


def _code(text: str) -> dict[str, object]:
    lines = text.strip().splitlines(keepends=True)
    empty: dict[str, object] = {"execution_count": None, "metadata": {}, "outputs": []}
    return {"cell_type": "code", "source": lines, **empty}


def page(name: str, output: str) -> str:
    """Return a script's page: its text, its figure, what it printed, its code."""
    title, text = described(name)
    code = code_of(name)
    hosted = HOSTED.format(name) if name in NOTEBOOKS else ""
    return (
        f"{NOTE}\n# {title}\n\n{text}\n\n![{title}: what the script draws]({name}.png)\n\n"
        f"## What it prints\n\n```text\n{output.strip()}\n```\n\n"
        f"## The script\n\n[{name}.py]({name}.py)\n{hosted}\n```python\n{code}\n```\n"
    )


def described(name: str) -> tuple[str, str]:
    """Return a script's title and the text under it."""
    docstring = ast.get_docstring(ast.parse((GALLERY / f"{name}.py").read_text("utf-8"))) or ""
    title, _, text = docstring.partition("\n\n")
    return title.removesuffix("."), text


def index() -> str:
    """Return the page that shows every figure with its first paragraph."""
    links = ", ".join(f"[{described(name)[0]}]({name}.ipynb)" for name in NOTEBOOKS)
    parts = [f"{NOTE}\n# Gallery\n{INDEX.format(links)}"]
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
        if name in NOTEBOOKS:
            (GALLERY / f"{name}.ipynb").write_text(notebook(name), "utf-8")
        result = run(name)
        (GALLERY / f"{name}.md").write_text(page(name, result.output), "utf-8")
        (GALLERY / f"{name}.png").write_bytes(result.figure)
        print(f"{result.cpu_seconds:5.1f} s  {len(result.figure):>8,} bytes  {name}", flush=True)
    (GALLERY / "index.md").write_text(index(), "utf-8")


if __name__ == "__main__":
    main()
