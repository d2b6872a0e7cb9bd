# SPDX-License-Identifier: Apache-2.0
"""Pages and scorecard rows generated from the committed results."""
