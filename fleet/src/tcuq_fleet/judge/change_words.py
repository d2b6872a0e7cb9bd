# SPDX-License-Identifier: Apache-2.0
"""What moved most in a changed device, in a technician's words."""

# In the order of the record's means, then the evidence: what a rise means, and what a fall means.
_WORDS = (
    ("it probably errs more often", "it probably errs less often"),
    ("its sensor reads less as in calibration", "its sensor reads more as in calibration"),
    ("its inputs are less like calibration", "its inputs are more like calibration"),
    ("its confidence rose", "its confidence fell"),
    ("its label changes more often", "its label changes less often"),
    ("the evidence against calibration rose", ""),
)


def moved_words(moved: int | None) -> str:
    """Return what moved most, from 1 in the order of the record; below 0 if it fell.

    Examples
    --------
    >>> moved_words(-4), moved_words(None)
    ('its confidence fell', '')
    """
    return "" if not moved else _WORDS[abs(moved) - 1][moved < 0]
