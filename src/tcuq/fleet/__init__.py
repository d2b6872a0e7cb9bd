# SPDX-License-Identifier: Apache-2.0
"""The fleet: records of many devices from the wire to the operator."""
