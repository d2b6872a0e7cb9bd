# SPDX-License-Identifier: Apache-2.0
"""Data sets: found in `$TCUQ_DATA` or the cache, checked against the manifest, split by rule."""
