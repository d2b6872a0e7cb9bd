# SPDX-License-Identifier: Apache-2.0
"""MLflow: a profile, its settings, measures and report in the active run. Extra `mlflow`."""

import math

from tcuq._extras import import_extra
from tcuq.evaluation import evaluate
from tcuq.profile import Profile
from tcuq.profile.settings import ALPHA_BITS
from tcuq.reports import report
from tcuq.stream import Stream


def log_monitor(
    profile: Profile, stream: Stream | None = None, *, folder: str = "tcuq", rounds: int = 200
) -> None:
    """Log a profile to MLflow's active run, and what it does on a recorded stream.

    Parameters
    ----------
    profile
        From ``tcuq.fit``; logged as the artefact ``monitor.json``, with its settings as parameters.
    stream
        A recorded stream: its measures are logged as metrics, with the ends of their confidence
        intervals, and the report as ``report.html``. None logs the profile alone.
    folder
        The artefacts' folder, and the prefix of parameters and metrics.
    rounds
        Of the bootstrap behind the confidence intervals.
    """
    mlflow = import_extra("mlflow", "mlflow")
    settings = {
        "sha256": profile.sha256,
        "classes": profile.inputs.classes,
        "features": profile.inputs.width,
        "score": profile.score.kind,
        "alpha": profile.threshold.alpha_q16 / (1 << ALPHA_BITS),
        "steps_per_false_alarm": profile.alarm and profile.alarm.steps_per_false_alarm,
    }
    mlflow.log_params({f"{folder}.{name}": value for name, value in settings.items()})
    mlflow.log_text(profile.to_json(), f"{folder}/monitor.json")
    if stream is None:
        return
    measures = {}
    for measure in evaluate(profile, stream, rounds=rounds).measures:
        key = f"{folder}.{measure.name}".replace(",", "")
        measures[key] = measure.value
        measures |= {f"{key} low": measure.interval.low, f"{key} high": measure.interval.high}
    mlflow.log_metrics({key: x for key, x in measures.items() if math.isfinite(x)})
    page = report({"monitor.json": profile}, stream, rounds=rounds)
    mlflow.log_text(page, f"{folder}/report.html")
