# SPDX-License-Identifier: Apache-2.0
"""Ingest: receive messages, validate them and store their records."""
