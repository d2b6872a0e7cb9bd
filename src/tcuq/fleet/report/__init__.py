# SPDX-License-Identifier: Apache-2.0
"""Report: a folder of records, without a server."""
