# SPDX-License-Identifier: Apache-2.0
"""Print what any rule finds in any file; exit with 1 if there is anything."""

import sys

from tools.lint import commands, conventions, documents, seeded, words
from tools.lint.files import tracked

RULES = (conventions, words, commands, documents, seeded)


def main() -> int:
    """Apply every rule to every file."""
    files = tracked()
    problems = [problem for rule in RULES for problem in rule.violations(files)]
    print("\n".join([*problems, f"{len(files)} files, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
