# SPDX-License-Identifier: Apache-2.0
"""Measurements behind every figure in the documents; each writes one file of `results/`."""
