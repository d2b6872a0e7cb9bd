# SPDX-License-Identifier: Apache-2.0
"""Proofs about the C runtime, by Frama-C's WP and by z3."""
