# SPDX-License-Identifier: Apache-2.0
"""Experiments: each a command, each with a result in benchmark/results."""
