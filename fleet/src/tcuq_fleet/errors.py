# SPDX-License-Identifier: Apache-2.0
"""The fleet's own error; what breaks a stated rule is `tcuq.errors.InputError`."""

from tcuq.errors import TcuqError


class FleetError(TcuqError):
    """A broker or a store does not answer, or refuses."""
