# SPDX-License-Identifier: Apache-2.0
"""Ingest: from the wire, checked, into the store."""
