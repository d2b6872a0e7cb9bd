# SPDX-License-Identifier: Apache-2.0
"""Research measurements: each writes one file of `results/`."""
