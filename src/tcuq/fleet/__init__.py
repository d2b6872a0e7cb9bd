# SPDX-License-Identifier: Apache-2.0
"""The fleet: records of many devices stored, judged and shown. The wire is its link to the rest."""
