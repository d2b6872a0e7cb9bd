# SPDX-License-Identifier: Apache-2.0
"""Encode the golden records with the host's compiler, and compare or write them."""

import argparse
import json
import tempfile
from pathlib import Path

from tests.fixtures.firmware.golden import GOLDEN, encoded_on_host, golden


def main() -> None:
    """Compare the committed bytes with the host's, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the host's bytes into the file")
    args = parser.parse_args()
    document = golden()
    with tempfile.TemporaryDirectory() as folder:
        encoded = encoded_on_host(Path(folder))
    codes = [{name: code.hex() for name, code in record._asdict().items()} for record in encoded]
    same = [{**record, **hexed} for record, hexed in zip(document["records"], codes, strict=True)]
    if args.write:
        GOLDEN.write_text(json.dumps({**document, "records": same}, indent=1) + "\n", "utf-8")
    print(f"{len(same)} records: {'same' if same == document['records'] else 'others than before'}")


if __name__ == "__main__":
    main()
