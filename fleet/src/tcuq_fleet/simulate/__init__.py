# SPDX-License-Identifier: Apache-2.0
"""Simulate: simulated devices that run the real firmware code and send through a broker."""
