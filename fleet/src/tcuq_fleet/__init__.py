# SPDX-License-Identifier: Apache-2.0
"""The fleet: ingest, store, judge and show the telemetry records of many devices."""
