# SPDX-License-Identifier: Apache-2.0
"""Checks of every file that no other linter makes; `python -m tools.lint` prints what it finds."""
