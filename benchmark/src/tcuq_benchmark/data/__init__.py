# SPDX-License-Identifier: Apache-2.0
"""Data sets from `$TCUQ_DATA` or the cache, checked against the manifest and split."""
