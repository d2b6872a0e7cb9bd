# SPDX-License-Identifier: Apache-2.0
"""Serve: the fleet's read-only dashboard, from roll-ups and single devices."""

from tcuq_fleet.serve.app import create_app

__all__ = ["create_app"]
