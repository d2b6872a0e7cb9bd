# SPDX-License-Identifier: Apache-2.0
"""The monitor inside scikit-learn, river, MLflow, Prometheus and OpenTelemetry."""

import socket
import threading
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pytest
from numpy.typing import NDArray
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from river import base
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import tcuq
from tcuq.adapters.mlflow import log_monitor
from tcuq.adapters.opentelemetry import observe_monitor
from tcuq.adapters.prometheus import COUNTERS, GAUGES, MonitorCollector, MonitorReader
from tcuq.adapters.river import DriftMonitor
from tcuq.adapters.sklearn import MonitoredClassifier
from tcuq.errors import CalibrationWarning, InputError
from tests.fixtures.pages import blocks

Array = NDArray[Any]


def recorded(steps: int, seed: int, moved: float = 0.0) -> tuple[Array, Array]:
    """Return inputs in three classes that stay for ten steps, and their labels."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, 3, steps // 10), 10)
    return rng.normal(2.5 * np.eye(3)[labels] + moved, 1.0), labels


# Without the check of other array libraries, which is off unless SciPy is told before its import.
CHECKS = [
    pytest.param(estimator, check, id=check.func.__name__)
    for estimator, check in estimator_checks_generator(MonitoredClassifier(LogisticRegression()))
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learns_own_checks_hold(estimator: Any, check: Callable[[Any], None]) -> None:
    """Every check of scikit-learn that applies to a classifier holds."""
    check(estimator)


@pytest.fixture(scope="module")
def model() -> MonitoredClassifier:
    """A pipeline that was trained and calibrated."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    trained = MonitoredClassifier(pipeline).fit(*recorded(1000, 0))
    return trained.calibrate(recorded(4000, 1)[0], starts=range(0, 4000, 500))


def test_it_abstains_and_alarms_as_the_monitor_does(model: MonitoredClassifier) -> None:
    """Accepted labels are right more often, moved inputs alarm, and a profile decides alike."""
    inputs, labels = recorded(2000, 2)
    answers = model.predict_or_abstain(inputs)
    accepted = answers != -1
    assert 0.75 < accepted.mean() < 0.99
    assert (answers == labels)[accepted].mean() > (model.predict(inputs) == labels).mean()
    moved, _ = recorded(2000, 3, moved=4.0)
    assert (model.predict_or_abstain(moved) == -1).mean() > 0.5
    assert model.monitor(moved).alarms
    inputs, _ = recorded(500, 4)
    scaled = model.estimator_[:-1].transform(inputs)
    trace = tcuq.Monitor(model.profile_).run(model.predict_proba(inputs), scaled)
    assert np.array_equal(trace.outcome, model.monitor(inputs).outcome)


def test_clones_and_grids_work() -> None:
    """A clone keeps its options and forgets what it learned; a grid searches the estimator's."""
    inputs, labels = recorded(600, 5)
    original = MonitoredClassifier(LogisticRegression(), alpha=0.2, reject_label=9)
    copy = clone(original.fit(inputs, labels))
    assert (copy.alpha, copy.reject_label) == (0.2, 9)
    assert not hasattr(copy, "estimator_")
    grid = GridSearchCV(copy, {"estimator__C": [0.1, 1.0]}, cv=2).fit(inputs, labels)
    assert grid.best_estimator_.estimator_.C in (0.1, 1.0)


def test_calls_out_of_order_are_refused() -> None:
    """Monitoring needs `calibrate`, and a number cannot stand among labels of text."""
    inputs, labels = recorded(600, 6)
    names = np.array(["sit", "walk", "run"])[labels]
    classifier = MonitoredClassifier(LogisticRegression()).fit(inputs, names)
    with pytest.raises(NotFittedError, match="calibrate"):
        classifier.predict_or_abstain(inputs)
    classifier.calibrate(recorded(8000, 7)[0], starts=range(0, 8000, 500))
    assert set(classifier.predict_or_abstain(inputs)) <= {"sit", "walk", "run", "withheld"}
    classifier.reject_label = -1
    with pytest.raises(InputError, match="reject_label must have the type"):
        classifier.predict_or_abstain(inputs)
    classifier.reject_label = "unsure"
    assert set(classifier.predict_or_abstain(inputs)) <= {"sit", "walk", "run", "unsure"}


def test_it_alarms_as_the_monitor_does(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """`drift_detected` is true at the monitor's alarms and at no other step."""
    detector = DriftMonitor(profile)
    assert isinstance(detector, base.DriftDetector)
    assert faulty.features is not None
    detected = []
    for row, features in zip(faulty.posteriors[:900], faulty.features[:900], strict=True):
        detector.update(row, features)
        detected.append(detector.drift_detected)
    trace = tcuq.Monitor(profile).run(faulty.posteriors[:900], faulty.features[:900])
    assert detector.decision is not None
    assert np.flatnonzero(detected).tolist() == list(trace.alarms)
    assert trace.alarms


def test_clones_start_anew_and_dictionaries_are_rows(
    profile: tcuq.Profile, faulty: tcuq.Stream
) -> None:
    """A clone has the profile and no steps; unmet classes count as 0, unknown ones are refused."""
    detector = DriftMonitor(profile, classes=list("0123456789"))
    assert faulty.features is not None
    by_class = dict(zip("0123456789", faulty.posteriors[0].tolist(), strict=True))
    detector.update(by_class, faulty.features[0])
    clone = detector.clone()
    assert clone.profile is profile
    assert (clone.classes, clone.decision) == (list("0123456789"), None)
    clone.update(by_class, faulty.features[0])
    assert clone.decision == detector.decision
    detector = DriftMonitor(profile)
    assert faulty.features is not None
    detector.update({3: 0.75, 7: 0.25}, faulty.features[0])
    assert detector.decision is not None
    assert detector.decision.label == 3
    with pytest.raises(InputError, match="got 'seven'"):
        detector.update({"seven": 1.0}, faulty.features[0])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # SQLAlchemy's own, of MLflow
def test_a_run_has_profile_measures_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: tcuq.Profile, faulty: tcuq.Stream
) -> None:
    """The run's artefact is the profile, and its metrics are those of `evaluate`."""
    monkeypatch.chdir(tmp_path)
    with mlflow.start_run() as run:
        log_monitor(profile, faulty, rounds=20)
    finished = mlflow.get_run(run.info.run_id)
    artefacts = Path(finished.info.artifact_uri.removeprefix("file://")) / "tcuq"
    assert tcuq.Profile.load(artefacts / "monitor.json") == profile
    assert "<html" in (artefacts / "report.html").read_text("utf-8")
    assert finished.data.params["tcuq.sha256"] == profile.sha256
    assert float(finished.data.params["tcuq.alpha"]) == pytest.approx(0.099, abs=1e-4)
    assert finished.data.metrics["tcuq.withheld"] == pytest.approx(0.47, abs=0.05)
    assert finished.data.metrics["tcuq.withheld low"] < finished.data.metrics["tcuq.withheld high"]


def test_prometheus_scrapes_the_counters(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """Every scrape over HTTP has the monitor's counters of that moment."""
    monitor, registry = tcuq.Monitor(profile), CollectorRegistry()
    registry.register(MonitorCollector(monitor, {"model": "kws"}))
    server, thread = start_http_server(0, "127.0.0.1", registry)
    try:
        for part in faulty.recordings():
            monitor.run(part)
            address = f"http://127.0.0.1:{server.server_port}/metrics"
            with urllib.request.urlopen(address) as answer:
                families = text_string_to_metric_families(answer.read().decode())
            samples = {s.name: s.value for family in families for s in family.samples}
            telemetry = dict(monitor.engine.telemetry())
            for name in COUNTERS:
                assert samples[f"tcuq_{name}_total"] == telemetry[name]
            assert samples["tcuq_alarm_stands"] == 1
            assert samples["tcuq_epoch_evidence_bits"] == monitor.epoch_evidence_bits
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert monitor.engine.telemetry()["steps"] == len(faulty)


def test_a_scrape_while_another_thread_ran_the_monitor_failed(
    profile: tcuq.Profile, faulty: tcuq.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A monitor in use gives the figures read last, for every metric, and no error."""
    monitor = tcuq.Monitor(profile)
    monitor.run(faulty)
    reader = MonitorReader(monitor)
    before = reader.read()

    def busy(_: tcuq.Monitor) -> float:
        raise RuntimeError("this monitor is in use by another thread")

    with monkeypatch.context() as patch:
        patch.setattr(tcuq.Monitor, "epoch_evidence_bits", property(busy))
        monitor.run(faulty)
        assert reader.read() == before
    assert reader.read()["steps"] == 2 * len(faulty) == 2 * before["steps"]


def test_scrapes_during_a_long_run(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """Scrapes from another thread succeed all the while, and the last one sees every step."""
    monitor, registry = tcuq.Monitor(profile), CollectorRegistry()
    registry.register(MonitorCollector(monitor))
    thread = threading.Thread(target=lambda: [monitor.run(faulty) for _ in range(20)])
    thread.start()
    while thread.is_alive():
        assert b"tcuq_steps_total" in generate_latest(registry)
    assert f"tcuq_steps_total {20.0 * len(faulty)}" in generate_latest(registry).decode()


def test_opentelemetry_reads_the_counters(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """What the SDK exports are the monitor's counters, with the attributes given."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monitor = tcuq.Monitor(profile)
    observe_monitor(monitor, provider.get_meter("test"), {"model": "kws"})
    monitor.run(faulty)
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    points = {metric.name: metric.data.data_points[0] for metric in scope.metrics}
    assert {f"tcuq.{name}" for name in (*COUNTERS, *GAUGES)} == set(points)
    telemetry = dict(monitor.engine.telemetry())
    for name in COUNTERS:
        point = points[f"tcuq.{name}"]
        assert point.value == telemetry[name]  # type: ignore[union-attr]
        assert point.attributes == {"model": "kws"}
    provider.shutdown()


def test_a_meter_observes_several_monitors(profile: tcuq.Profile, faulty: tcuq.Stream) -> None:
    """Each monitor has its own points; two of one meter must have attributes that differ."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monitors = {name: tcuq.Monitor(profile) for name in ("kws", "wake")}
    for steps, (name, monitor) in enumerate(monitors.items(), start=1):
        observe_monitor(monitor, provider.get_meter("test"), {"model": name})
        monitor.run(faulty[:steps])
    with pytest.raises(InputError, match="attributes must tell the monitors of one meter apart"):
        observe_monitor(tcuq.Monitor(profile), provider.get_meter("test"), {"model": "kws"})
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    (steps_metric,) = [metric for metric in scope.metrics if metric.name == "tcuq.steps"]
    points = {
        (point.attributes or {})["model"]: point.value  # type: ignore[union-attr]
        for point in steps_metric.data.data_points
    }
    assert points == {"kws": 1, "wake": 2}
    provider.shutdown()


def test_python_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks, in order, as one program; only the port is changed."""
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)
        warnings.simplefilter("ignore", DeprecationWarning)  # SQLAlchemy's own, of MLflow
        for block in blocks("docs/howto/adapters.md", "python"):
            code = block.replace("9100", str(port))
            exec(compile(code, "adapters.md", "exec"), names)  # noqa: S102 - our own document
    names["server"].shutdown()
    names["server"].server_close()
    names["thread"].join()
    for collector in [one for one in REGISTRY._collector_to_names if "tcuq" in str(type(one))]:  # noqa: SLF001
        REGISTRY.unregister(collector)
    assert "drift: " in capsys.readouterr().out
    assert list((tmp_path / "mlruns").rglob("report.html"))
