# SPDX-License-Identifier: Apache-2.0
"""Make golden files of the present formats, and compare or write them with what they decide.

A released file stays: after a format changes, its files get a folder of their own in the manifest.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tcuq
from tcuq.firmware import hmac_signer, profile_blob
from tcuq.firmware.header import number
from tcuq.recording import FORMAT
from tests.fixtures.firmware.blob_device import KEY_NUMBER, PRODUCT
from tests.fixtures.firmware.golden import GOLDEN, encoded_on_host, golden
from tests.fixtures.golden import FOLDER, KEY, MANIFEST, decided

STEPS, FAULT, CUT = 800, 500, 300
ABOUT = "Files of released formats and what they decide; made by python -m tools.golden --write."


def walk(steps: int, seed: int, *, fault: int | None = None) -> tcuq.Stream:
    """Return bytes as a device reads them: 4 classes, 6 features, 2 statistics of a sensor."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(0, 4, steps // 8 + 1), 8)[:steps]
    late = np.zeros(steps, bool)
    late[steps if fault is None else fault :] = True
    logits = rng.normal(0, 1, (steps, 4)) + np.where(late, 0.5, 4.0)[:, None] * np.eye(4)[labels]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    centres = 3 * np.random.default_rng(0).normal(size=(4, 6))
    features = centres[labels] + rng.normal(0, np.where(late, 3.0, 1.0)[:, None], (steps, 6))
    health = 4 + rng.normal(0, 1, (steps, 2)) * np.where(late, 3.0, 1.0)[:, None]
    return tcuq.Stream(
        np.minimum(np.rint(shares * 256), 255) / 256,
        np.clip(np.rint(features * 8), -127, 127) / 8,
        labels,
        classes=["a", "b", "c", "d"],
        health=np.rint(health * 16) / 16,
        health_names=["level", "roughness"],
    )


def regression(steps: int, seed: int, *, fault: int | None = None) -> tcuq.Stream:
    """Return a model without classes: one output, three features; late outputs are off."""
    rng = np.random.default_rng(seed)
    features = rng.normal(0, 1, (steps, 3)).round(3)
    late = np.arange(steps) >= (steps if fault is None else fault)
    targets = features @ [1.0, -2.0, 0.5]
    outputs = (targets + rng.normal(0, np.where(late, 3.0, 0.2), steps)).round(3)
    return tcuq.Stream(outputs=outputs, features=features, targets=targets, tolerance=0.5)


def profiles() -> Iterator[tuple[str, tcuq.Profile, tcuq.Stream]]:
    """Yield profiles of every kind, each with a stream that it must decide."""
    calibration, field = walk(4000, 1), walk(STEPS, 2, fault=FAULT)
    yield "recommended", tcuq.fit(calibration, budget=0.3), field
    promise = tcuq.PromiseOptions(0.2, independent_unit="steps")
    yield "promise", tcuq.fit(calibration, promise=promise), field
    development = walk(2000, 3, fault=1000)
    yield "paper", tcuq.fit(calibration, development, preset="paper"), field
    yield "outputs", tcuq.fit(regression(4000, 4)), regression(STEPS, 5, fault=FAULT)


def write_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Write the files to a folder; return what the manifest says of them."""
    files: dict[str, dict[str, Any]] = {}
    saved: dict[str, str] = {}
    for name, profile, stream in profiles():
        for ending in (".npz", ".parquet"):
            kind = "outputs" if name == "outputs" else "classes"
            path = folder / f"{kind}{ending}"
            stream.save(path)
            saved[stream.sha256] = f"{kind}.npz"
            files[path.name] = {"formats": [FORMAT], "sha256": stream.sha256}
        profile.save(folder / f"{name}.json")
        document = json.loads(profile.to_json())
        trace = tcuq.Monitor(profile).run(stream)
        files[f"{name}.json"] = {
            "formats": [document["format"]],
            "stream": saved[stream.sha256],
            "decides": decided(trace),
        }
        monitor = tcuq.Monitor(profile)
        monitor.run(stream[:CUT])
        (folder / f"{name}.snapshot").write_bytes(monitor.snapshot())
        files[f"{name}.snapshot"] = {
            "formats": [f"snapshot {monitor.snapshot()[11]}"],
            "profile": f"{name}.json",
            "after": CUT,
        }
        signer = hmac_signer(KEY, key_number=KEY_NUMBER)
        blob = profile_blob(profile, number=1, signer=signer, product=PRODUCT, stream=stream)
        (folder / f"{name}.blob").write_bytes(blob)
        files[f"{name}.blob"] = {
            "formats": [f"blob {blob[4]}", f"profile {number('TCUQ_PROFILE_FORMAT')}"],
            "profile": f"{name}.json",
        }
    return files


def records(*, write: bool) -> dict[str, Any]:
    """Encode the golden states by the host's compiler; return what the manifest says of them."""
    document = golden()
    with tempfile.TemporaryDirectory() as folder:
        encoded = encoded_on_host(Path(folder))
    codes = [{name: code.hex() for name, code in record._asdict().items()} for record in encoded]
    same = [{**record, **hexed} for record, hexed in zip(document["records"], codes, strict=True)]
    print(f"{len(same)} records: {'same' if same == document['records'] else 'others than before'}")
    if write:
        GOLDEN.write_text(json.dumps({**document, "records": same}, indent=1) + "\n", "utf-8")
    versions = sorted({bytes.fromhex(r[n])[0] for r in same for n in ("plain", "signed")})
    return {"formats": [f"record {version}" for version in versions]}


def main() -> None:
    """Make the files beside the committed ones and compare, or write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write files and manifest")
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the calibration streams are short on purpose
    with tempfile.TemporaryDirectory() as temporary:
        files = write_files(FOLDER if args.write else Path(temporary))
    files[GOLDEN.name] = records(write=args.write)
    text = json.dumps({"about": ABOUT, "files": files}, indent=1) + "\n"
    if args.write:
        MANIFEST.write_text(text, "utf-8")
    print(f"{len(files)} files: {'same' if text == MANIFEST.read_text('utf-8') else 'others'}")


if __name__ == "__main__":
    main()
