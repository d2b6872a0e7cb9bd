# SPDX-License-Identifier: Apache-2.0
"""Report: judge a folder of record files, without any server."""
