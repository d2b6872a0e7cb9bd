# SPDX-License-Identifier: Apache-2.0
import glob
import re
import shlex
import shutil
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main

PAGE = Path(__file__).parents[2] / "docs/howto/replay.md"
BOX = Path(tcuq.__file__).parent / "data/keywords"


def test_how_to_alone_leads_to_a_comparison_of_three_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its commands run in order in a folder of recordings, then its Python."""
    monkeypatch.chdir(tmp_path)
    Path("recordings").mkdir()
    shutil.copy(BOX / "calibration.npz", "calibration.npz")
    for path in BOX.glob("*.npz"):
        shutil.copy(path, "recordings")
    text = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for line in "".join(blocks).splitlines():
        words = shlex.split(line.removeprefix("$ tcuq "))
        expanded = [w for word in words for w in (sorted(glob.glob(word)) or [word])]  # noqa: PTH207
        assert main(expanded) == 0, line
    page = Path("run/report.html").read_text("utf-8")
    assert all(name in page for name in ("monitor.json", "strict.json", "short.json"))
    recorded = [len(tcuq.Stream.load(path)) for path in Path("recordings").iterdir()]
    assert f"{len(recorded)} streams, {sum(recorded):,} steps" in page
    (block,) = re.findall(r"^```python\n(from pyarrow.*?)^```", text, re.MULTILINE | re.DOTALL)
    capsys.readouterr()
    exec(compile(block, "replay.md", "exec"), {})  # noqa: S102 - our own document
    assert sum(map(int, capsys.readouterr().out.split())) == len(recorded)
