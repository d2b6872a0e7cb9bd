# SPDX-License-Identifier: Apache-2.0
"""Wheels for other platforms, dependency versions, licences and the rehearsal of a release."""
