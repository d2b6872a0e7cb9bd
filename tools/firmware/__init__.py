# SPDX-License-Identifier: Apache-2.0
"""Firmware around the C runtime, built for and run on emulated CPUs."""
