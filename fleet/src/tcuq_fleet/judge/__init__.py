# SPDX-License-Identifier: Apache-2.0
"""Judge: discover which devices and groups drift, keep alarms, and notify receivers."""
