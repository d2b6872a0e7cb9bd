# SPDX-License-Identifier: Apache-2.0
"""Record the playground's streams and fit their profiles: `make playground-streams`.

Each is one .npz file of segments, and one .json file that says how they are put together and what
`fit` gives at each alpha. Needs AudioMNIST, Speech Commands, the gas data and the wake-word model
in $TCUQ_DATA, soundfile, the extra litert and aidge-export-cpp; three minutes on one core.
"""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import tcuq
from tcuq.demo import demo_stream
from tools.demo_streams.__main__ import clean_streams, record
from tools.demo_streams.faults import FAULTS
from tools.demo_streams.sessions import EXAMPLE, ROOT, WINDOWS, speakers

OUT = ROOT / "js/playground/streams"
GALLERY = ROOT / "docs/gallery"
ALPHAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
BYTE, HEALTH_ONE = 256, 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """One choice of the page: segments of a stream, and which of them a fault's severity plays."""

    profile: Callable[[float], tcuq.Profile]
    alpha: float
    segments: dict[str, tcuq.Stream]
    before: str
    after: str | None
    faults: dict[str, dict[str, str]]  # by the fault's name and the severity's, the segment's


def keywords() -> Bundle:
    """Return words of 12 people, and four faults of their microphone at three severities."""
    make = ("make", "-C", str(EXAMPLE), "build/network.so", f"PYTHON={sys.executable}")
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    before, fault, after = slice(0, 400), slice(400, 640), slice(800, 960)
    clean = demo_stream("test")
    segments, faults = {"clean": clean[before], "repaired": clean[after]}, {}
    speech = clean_streams(speakers(0), 0)["test"]
    words = slice(fault.start // WINDOWS, fault.stop // WINDOWS)
    titles = {"hum": "mains hum", "clipping": "30 dB more gain, clipped",
              "dropout": "lost samples", "noise_high": "a machine's noise"}  # fmt: skip
    for name, title in titles.items():
        faults[title] = {
            "half": f"{name}_half",
            "as in tcuq demo": name,
            "and a half": f"{name}_more",
        }
        segments[name] = demo_stream(f"fault_{name}")[fault]
        for suffix, severity in (("half", 0.5), ("more", 1.5)):
            rng = np.random.default_rng([3, list(FAULTS).index(name), int(2 * severity)])
            sounds = FAULTS[name](speech.sounds[words], severity, rng)
            arrays = record(speech.with_sounds(words, sounds))
            segments[f"{name}_{suffix}"] = _loaded(arrays)[fault]
    return Bundle(
        lambda alpha: tcuq.fit(demo_stream("calibration"), alpha=alpha),
        0.1, segments, "clean", "repaired", faults,
    )  # fmt: skip


def gas() -> Bundle:
    """Return a gas sensor's reading as it drifts over months."""
    script = _run("gas_regression")
    months = {"months 11 to 13": 3, "months 14 and 15": 4, "months 17 to 20": 6}
    steps = 400
    segments = {"calm": script["calm"][:steps]}
    for name, batch in months.items():
        segments[name], _ = script["stream_of"](*script["months"](batch), steps)
    alarm = tcuq.AlarmOptions(1 << 14)
    return Bundle(
        lambda alpha: tcuq.fit(script["calibration"], alarm=alarm, alpha=alpha),
        0.1, segments, "calm", None, {"drift of 16 gas sensors": {name: name for name in months}},
    )  # fmt: skip


def wake() -> Bundle:
    """Return a wake word's sounds, and the same with something that covers the microphone."""
    script = _run("wake_word")
    begin, rate = script["COVERED"] * 16_000, 16_000
    room = script["sound"].copy()
    room[begin:] /= 0.02  # as it was before the script covered the microphone
    segments, names = {}, {"a cloth": 0.25, "a hand": 0.08, "a lid": 0.02}
    hop = script["HOP"] * script["STRIDE"] / rate
    for name, share in names.items():
        sound = room.copy()
        sound[begin:] *= share
        stream, seconds = script["listen"](sound), script["seconds"]
        heard = np.array([_heard(end, script["spoken"]) for end in seconds])
        stream = tcuq.Stream(
            stream.posteriors, health=stream.health, health_names=stream.health_names,
            classes=stream.class_names, labels=np.select([heard > 0.9, heard < 0.4], [1, 0], -1),
        )  # fmt: skip
        at = int(np.searchsorted(seconds, script["COVERED"]))
        segments["free"], segments[name] = (
            stream[at - round(60 / hop) : at],
            stream[at:][: round(60 / hop)],
        )
    return Bundle(
        lambda alpha: tcuq.fit(script["calibration"], terms=script["terms"], alpha=alpha),
        0.02, segments, "free", None, {"a covered microphone": {name: name for name in names}},
    )  # fmt: skip


def _heard(end: float, spoken: Iterable[int]) -> float:
    """Return the share of a spoken second that the window of one second up to `end` holds."""
    return max(max(0.0, min(end, t + 1) - max(end - 1, t)) for t in spoken)


def _run(script: str) -> dict[str, Any]:
    """Run a script of the gallery and return its names."""
    module = ModuleType(script)
    data = Path(os.environ.get("TCUQ_DATA", "../shared/data")).resolve()
    os.environ |= {"TCUQ_DATA": str(data), "MPLBACKEND": "Agg"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        SourceFileLoader(script, str(GALLERY / f"{script}.py")).exec_module(module)
    return vars(module)


def _loaded(arrays: dict[str, Any]) -> tcuq.Stream:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.npz"
        np.savez(path, **arrays)
        return tcuq.Stream.load(path)


def columns(bundle: Bundle, profile: tcuq.Profile) -> dict[str, Any]:
    """Return the segments one after another, in the integers that a device is given."""
    parts = list(bundle.segments.values())
    posteriors = np.concatenate([part.posteriors for part in parts])
    arrays: dict[str, Any] = {"kind": np.array(parts[0].kind)}
    if posteriors.max() < 1 and np.array_equal(np.rint(posteriors * BYTE), posteriors * BYTE):
        arrays |= {
            "posteriors": np.rint(posteriors * BYTE).astype(np.uint8),
            "posterior_scale": np.array(1 / BYTE),
        }
    else:
        arrays["posteriors"] = posteriors.astype(np.float32)
    scale = profile.inputs.feature_scale
    if scale is not None:
        features = np.concatenate([part.features for part in parts if part.features is not None])
        codes = np.clip(np.rint(features / scale), -127, 127).astype(np.int8)
        arrays |= {"features": codes, "feature_scale": np.array(scale)}
    arrays["labels"] = np.concatenate(
        [part.labels for part in parts if part.labels is not None]
    ).astype(np.int8)
    if parts[0].health is not None:
        health = np.concatenate([part.health for part in parts if part.health is not None])
        codes = np.clip(np.rint(health * HEALTH_ONE), -32768, 32767).astype(np.int16)
        arrays |= {
            "health": codes,
            "health_scale": np.array(1 / HEALTH_ONE),
            "health_names": np.array(parts[0].health_names),
        }
    if parts[0].class_names is not None:
        arrays["class_names"] = np.array(parts[0].class_names)
    return arrays


def canonical(document: object) -> str:
    """Return JSON as a profile's checksum reads it."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def write(name: str, bundle: Bundle, folder: Path = OUT) -> None:
    """Write a choice's rows, and what puts them together."""
    profiles = {alpha: json.loads(bundle.profile(alpha).to_json()) for alpha in ALPHAS}
    content = profiles[bundle.alpha]
    arrays = columns(bundle, tcuq.Profile.from_json(json.dumps(content)))
    ends = np.cumsum([len(part) for part in bundle.segments.values()]).tolist()
    spans = dict(zip(bundle.segments, zip([0, *ends], ends, strict=False), strict=True))
    head = ("format", "sha256", "checksum")
    document = {
        "alpha": bundle.alpha,
        "format": content["format"],
        "profile": canonical({name: content[name] for name in content if name not in head}),
        "thresholds": {alpha: canonical(one["threshold"]) for alpha, one in profiles.items()},
        "segments": spans,
        "before": bundle.before,
        "after": bundle.after,
        "faults": bundle.faults,
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    (folder / f"{name}.json").write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )


def main() -> None:
    """Write all choices, or the named ones."""
    makers = {"keywords": keywords, "gas": gas, "wake": wake}
    for name in sys.argv[1:] or makers:
        write(name, makers[name]())
        print(name, *((OUT / f"{name}{ending}").stat().st_size for ending in (".npz", ".json")))


if __name__ == "__main__":
    main()
