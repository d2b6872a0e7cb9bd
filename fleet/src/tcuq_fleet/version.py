# SPDX-License-Identifier: Apache-2.0
"""The one place where the fleet's version is written."""

__version__ = "0.3.0"
