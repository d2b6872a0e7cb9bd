# SPDX-License-Identifier: Apache-2.0
"""Judge: which devices and groups drift, and who is told."""
