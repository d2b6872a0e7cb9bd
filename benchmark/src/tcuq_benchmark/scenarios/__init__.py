# SPDX-License-Identifier: Apache-2.0
"""The streams of each task: calibration, development, test, accuracy drops, out of distribution."""
