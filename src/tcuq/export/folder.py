# SPDX-License-Identifier: Apache-2.0
"""An export in a folder: written whole, refreshed without touching what is the user's, compared."""

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tcuq._atomic import written_whole
from tcuq.errors import ExportError
from tcuq.export.sources import filled, shared_sources
from tcuq.export.targets import TARGETS
from tcuq.profile import Profile
from tcuq.stream import Stream
from tcuq.version import __version__

LISTING = "tcuq-export.json"
MAX_LISTING_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an export by path; `yours` are written once and then left alone."""

    target: str
    files: dict[str, str]
    yours: frozenset[str]


def _make(profile: Profile, target: str, **options: Any) -> Export:  # noqa: ANN401 - as export
    if target not in TARGETS:
        raise ExportError(f"target must be one of {', '.join(TARGETS)}, got {target!r}")
    sources, facts = shared_sources(profile, **options)
    layout = TARGETS[target](sources, facts)
    facts |= {"TARGET": target, "YOURS": ", ".join(f"`{name}`" for name in sorted(layout.yours))}
    files = {f"src/{name}": text for name, text in sources.items()} | layout.files
    files["README.md"] = filled("README.md", facts)
    listing = {
        "tcuq": __version__,
        "profile": profile.sha256,
        "for": target,
        "files": {n: _hash(t.encode()) for n, t in sorted(files.items()) if n not in layout.yours},
    }
    files[LISTING] = json.dumps(listing, indent=1) + "\n"
    return Export(target, files, layout.yours)


def export(
    profile: Profile,
    folder: str | os.PathLike[str],
    target: str,
    *,
    telemetry: bool = True,
    uplink: bool = False,
    stream: Stream | None = None,
    feature_codes: tuple[float, int] | None = None,
) -> Export:
    """Write a profile as C sources for a build system.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.
    folder
        New, empty, or an earlier export, which is brought up to date.
    target
        "c", "arduino", "zephyr", "esp-idf" or "platformio".
    telemetry
        Whether the monitor counts for the telemetry record.
    uplink
        Whether the C that sends the record to a fleet comes along.
    stream
        A recorded stream to take the self-test's steps from; made up if None.
    feature_codes
        Scale and zero point of the network's own int8 features: a table to the monitor's is
        written then.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq.demo import demo_profile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = export(demo_profile(), folder, "c")
    >>> sorted(made.yours), "src/tcuq_device.h" in made.files
    (['main.c'], True)
    """
    made = _make(
        profile, target, telemetry=telemetry, uplink=uplink, stream=stream,
        feature_codes=feature_codes,
    )  # fmt: skip
    place = Path(folder)
    before = _listed(place)
    for name in sorted(set(before) - set(made.files)):
        old = place / name
        if old.is_file() and _hash(old.read_bytes()) == before[name]:  # ours, and as we left it
            old.unlink()
    for name, text in made.files.items():
        path = place / name
        if name in made.yours and path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as file:
            file.write(text.encode())
    return made


def differences(
    profile: Profile,
    folder: str | os.PathLike[str],
    target: str,
    **options: Any,  # noqa: ANN401 - those of export
) -> list[str]:
    """What an export again would change in a folder: nothing if it is current."""
    made = _make(profile, target, **options)
    place = Path(folder)
    found = [f"{name} is not of this export" for name in _listed(place) if name not in made.files]
    for name, text in made.files.items():
        path = place / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif name not in made.yours and path.read_bytes() != text.encode():
            found.append(f"{name} differs")
    return sorted(found)


def _listed(place: Path) -> dict[str, str]:
    """The files of the export that a folder holds; none if it is new or empty."""
    listing = place / LISTING
    if not listing.is_file():
        if place.is_dir() and any(place.iterdir()):
            raise ExportError(f"{place}: must be empty or an earlier export, which has {LISTING}")
        if place.exists() and not place.is_dir():
            raise ExportError(f"{place}: is not a folder")
        return {}
    try:
        with listing.open("rb") as file:
            said = json.loads(file.read(MAX_LISTING_BYTES))
        files = {str(name): str(value) for name, value in said["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ExportError(f"{listing}: is damaged; export into a new folder") from None
    for name in files:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or "\\" in name:
            raise ExportError(f"{listing}: names a file outside the folder, {name[:80]!r}")
    return files


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
