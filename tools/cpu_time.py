# SPDX-License-Identifier: Apache-2.0
"""CPU seconds, which other work on the machine does not change as it does those of the clock."""

import resource


def children_seconds() -> float:
    """Return the CPU seconds of this process's children that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
