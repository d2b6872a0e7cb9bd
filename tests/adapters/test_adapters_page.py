# SPDX-License-Identifier: Apache-2.0
"""The page about adapters works as it stands."""

import socket
import warnings
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from tcuq.errors import CalibrationWarning
from tests.fixtures.pages import blocks


def test_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks, in order, as one program; only the port and MLflow's folder are changed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        warnings.simplefilter("ignore", FutureWarning)  # MLflow's own, of its file store
        for block in blocks("docs/howto/adapters.md", "python"):
            code = block.replace("9100", str(port))
            exec(compile(code, "adapters.md", "exec"), names)  # noqa: S102 - our own document
    names["server"].shutdown()
    names["server"].server_close()
    names["thread"].join()
    for collector in [one for one in REGISTRY._collector_to_names if "tcuq" in str(type(one))]:  # noqa: SLF001
        REGISTRY.unregister(collector)
    assert "drift: " in capsys.readouterr().out
    assert list((tmp_path / "runs").rglob("report.html"))
