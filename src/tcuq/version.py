# SPDX-License-Identifier: Apache-2.0
"""The library's version, its only definition."""

__version__ = "0.3.0"
