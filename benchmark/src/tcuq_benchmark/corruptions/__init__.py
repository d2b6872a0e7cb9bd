# SPDX-License-Identifier: Apache-2.0
"""Corruption suites: (batch, severity 1..5, rng) to a batch of the same type and shape."""
