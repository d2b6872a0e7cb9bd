# SPDX-License-Identifier: Apache-2.0
"""The blob loader's fuzzer: any bytes behind a true tag or none, under sanitizers.

Tables are read in the blob in one half of the time, and copied in the other. `--seconds 20` is
CI's form; `--runs 1000000` the long one. A finding fails and its input is saved.
"""

from pathlib import Path

from tcuq.demo import demo_profile
from tcuq.firmware import hmac_signer, profile_blob
from tcuq.profile.quantize import quantize
from tests.fixtures.conformance import recorded_profile
from tests.fixtures.firmware.toolchain import OTA, RUNTIME, UPLINK, run
from tests.fixtures.random_profiles import random_profile
from tools.fuzz.fuzzers import HERE, WATCHED, compile_objects, link
from tools.fuzz.run import Outcome, fuzz, run_campaign

LONGEST = 8192  # bytes of an input
COPY = "-DTCUQ_BLOB_COPY"
TRUE_LENGTH, TRUE_TAG = 1, 2


def write_seeds(folder: Path) -> None:
    """Write whole blobs of different profiles, each with a room that takes it."""
    folder.mkdir()
    for i, profile in enumerate((demo_profile(), recorded_profile("paper"), random_profile(1))):
        spec = quantize(profile)
        room = [max(spec["lags"]), spec["dimensions"], 10, 5, 0, 0, 0]
        head = bytes([TRUE_LENGTH | TRUE_TAG, *room])
        blob = profile_blob(profile, number=1, signer=hmac_signer(bytes(16)))
        (folder / f"seed{i}").write_bytes(head + blob)


def build(folder: Path, option: str, ota: Path = OTA) -> Path:
    """Build the fuzzer of a copy of the loader, with tables in place or copied."""
    sources = [
        HERE / "blob/harness.c",
        ota / "tcuq_blob.c",
        ota / "tcuq_blob_selftest.c",
        *sorted(RUNTIME.glob("tcuq*.c")),
    ]
    folders = [f"-I{path}" for path in (RUNTIME, UPLINK, ota, HERE)]
    compile_objects(folder, sources, ["-O2", *WATCHED, option, *folders])
    return link(folder)


def campaign(folder: Path, seconds: int, runs: int) -> Outcome:
    """Run the seeds, then new inputs, for so long or so many in all."""
    write_seeds(folder / "seeds")
    whole = Outcome(0, 0, 0.0, "")
    for name, option in (("place", f"-U{COPY[2:]}"), ("copy", COPY)):
        fresh = folder / f"fresh-{name}"
        fresh.mkdir()
        fuzzer = build(folder / name, option)
        run(["env", "SEEDS_MUST_LOAD=1", fuzzer, *sorted((folder / "seeds").iterdir())])
        half = -1 if runs < 0 else runs // 2
        corpora = [fresh, folder / "seeds"]
        whole = whole.then(fuzz(fuzzer, corpora, seconds // 2, most=half, longest=LONGEST))
        if whole.finding:
            break
    return whole


if __name__ == "__main__":
    run_campaign("blob", campaign, __doc__, 20)
