# SPDX-License-Identifier: Apache-2.0
"""Drift detectors and the streams they are compared on: ours beside river's and a CUSUM chart."""
