# SPDX-License-Identifier: Apache-2.0
"""Store: migrations, batches of records, and the tables in PostgreSQL."""
