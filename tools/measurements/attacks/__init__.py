# SPDX-License-Identifier: Apache-2.0
"""Attacks on a running fleet; `python -m tools.measurements.fleet_attacks` runs and judges them."""
