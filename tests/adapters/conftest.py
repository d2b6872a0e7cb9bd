# SPDX-License-Identifier: Apache-2.0
"""A stream with a fault, for every adapter."""

import os

import pytest

import tcuq
from tcuq.demo import demo_stream

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # before MLflow is imported


@pytest.fixture(scope="session")
def faulty() -> tcuq.Stream:
    """The demo's speech with mains hum."""
    return demo_stream("fault_hum")
