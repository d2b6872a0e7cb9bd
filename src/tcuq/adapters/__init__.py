# SPDX-License-Identifier: Apache-2.0
"""Adapters: the monitor in the form that other libraries expect. Each module needs its extra.

`river`, `sklearn`, `mlflow`, `prometheus` and `opentelemetry`; import the one that you use.
"""
