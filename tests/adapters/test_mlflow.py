# SPDX-License-Identifier: Apache-2.0
"""A profile and its report in an MLflow run."""

from pathlib import Path

import mlflow
import pytest

import tcuq
from tcuq.adapters.mlflow import log_monitor


@pytest.mark.filterwarnings("ignore::FutureWarning")  # MLflow's own, of its file store
def test_a_run_has_profile_measures_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: tcuq.Profile, faulty: tcuq.Stream
) -> None:
    """The run's artefact is the profile, and its metrics are those of `evaluate`."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        log_monitor(profile, faulty, rounds=20)
    finished = mlflow.get_run(run.info.run_id)
    artefacts = Path(finished.info.artifact_uri.removeprefix("file://")) / "tcuq"
    assert tcuq.Profile.load(artefacts / "monitor.json") == profile
    assert "<html" in (artefacts / "report.html").read_text("utf-8")
    assert finished.data.params["tcuq.sha256"] == profile.sha256
    assert float(finished.data.params["tcuq.alpha"]) == pytest.approx(0.1, abs=1e-4)
    assert finished.data.metrics["tcuq.withheld"] == pytest.approx(0.533, abs=0.05)
    assert finished.data.metrics["tcuq.withheld low"] < finished.data.metrics["tcuq.withheld high"]
