# SPDX-License-Identifier: Apache-2.0
"""`python -m tcuq.cli`."""

import sys

from tcuq.cli import main

if __name__ == "__main__":
    sys.exit(main())
