# SPDX-License-Identifier: Apache-2.0
"""Report: profiles on one recorded stream, as one HTML page that needs nothing else.

Decisions are those of the device's own code; measures are those of `evaluate`. Needs the extra
`fit`.
"""

from tcuq.report.page import report

__all__ = ["report"]
