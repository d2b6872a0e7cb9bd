# SPDX-License-Identifier: Apache-2.0
"""Experiments: each is a command and writes one result per task to benchmark/results."""
