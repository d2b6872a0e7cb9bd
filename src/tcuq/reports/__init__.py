# SPDX-License-Identifier: Apache-2.0
"""Report: profiles on one recorded stream, as one self-contained HTML page.

The C code of the device makes the decisions; the measures are those of `evaluate`. Needs the
extra `fit`.
"""

from tcuq.reports.page import report

__all__ = ["report"]
