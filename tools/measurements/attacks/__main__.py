# SPDX-License-Identifier: Apache-2.0
"""Run one attack against a broker on this machine."""

import argparse
from pathlib import Path

from tools.measurements.attacks.attacks import ATTACKS
from tools.measurements.attacks.target import Target


def main() -> None:
    """Attack by name."""
    named = {attack.__name__: attack for attack, _, _ in ATTACKS}
    parser = argparse.ArgumentParser()
    parser.add_argument("attack", choices=named)
    parser.add_argument("count", type=int, help="messages or records")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--certificates", type=Path, required=True, help="folder")
    args = parser.parse_args()
    named[args.attack](Target(args.port, args.certificates), args.count)


if __name__ == "__main__":
    main()
