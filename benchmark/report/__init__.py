# SPDX-License-Identifier: Apache-2.0
"""Pages and figures from the committed results: nothing in them is typed by hand."""
