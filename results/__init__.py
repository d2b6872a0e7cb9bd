# SPDX-License-Identifier: Apache-2.0
"""Measured figures that documents quote, one file each, and the scorecard over them."""
