# SPDX-License-Identifier: Apache-2.0
"""Detectors of a changed stream, and the streams they are held to: ours beside river's."""
