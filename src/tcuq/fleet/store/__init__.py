# SPDX-License-Identifier: Apache-2.0
"""Store: records into PostgreSQL, exactly once in effect."""
