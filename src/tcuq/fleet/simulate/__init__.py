# SPDX-License-Identifier: Apache-2.0
"""Simulate: devices that never were, with the firmware's own code."""
