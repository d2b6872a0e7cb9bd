# SPDX-License-Identifier: Apache-2.0
"""Scores and baselines behind one interface: `fit` on streams, `judge` a stream."""
