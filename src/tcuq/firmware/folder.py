# SPDX-License-Identifier: Apache-2.0
"""An export in a folder: write it, update it without touching the user's files, compare it."""

import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Unpack

from tcuq.errors import ExportError
from tcuq.files import atomic_write
from tcuq.firmware.sources import DEFAULT_NAME, Model, Options, parse_models, rename, shared_sources
from tcuq.firmware.targets import TARGETS
from tcuq.firmware.template_values import render_template
from tcuq.profile import Profile
from tcuq.version import __version__

MANIFEST = "tcuq-export.json"
MAX_MANIFEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Export:
    """The files of an export by path; `user_files` are written once and never overwritten."""

    target: str
    files: dict[str, str]
    user_files: frozenset[str]
    other_files: frozenset[str] = frozenset()
    """Files of the folder's other models, which stay as they are."""


def export(
    profile: Profile, folder: str | os.PathLike[str], target: str, **options: Unpack[Options]
) -> Export:
    """Write a profile as C sources for a build system.

    Parameters
    ----------
    profile
        From ``tcuq.fit`` or ``Profile.load``.
    folder
        New, empty, or an earlier export, which is updated.
    target
        "c", "arduino", "zephyr", "esp-idf" or "platformio"; "profile" writes no runtime, for
        firmware that has the runtime as a package.
    name
        Of the model in C: "kws" gives `tcuq_kws`, `tcuq_kws_selftest` and `tcuq_kws.h`. Export
        several models under different names into one folder: they share one runtime.
    telemetry
        Whether the monitor counts for the telemetry record; True by default.
    uplink
        Whether to add the C code that sends the record to a fleet; False by default.
    ota
        Whether to add the C code that loads a profile from a blob; False by default.
    stream
        A recorded stream to take the self-test's steps from; synthetic steps if None.
    feature_codes
        Scale and zero point of the network's own int8 features: adds a table that converts them
        to the monitor's.

    Examples
    --------
    >>> import tempfile
    >>> from tcuq.demo import demo_profile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = export(demo_profile(), folder, "c")
    >>> sorted(result.user_files), "src/tcuq_device.h" in result.files
    (['main.c'], True)
    """
    root = Path(folder)
    earlier, models = _read_manifest(root)
    result = _render(profile, target, options, earlier, models)
    for name in sorted(set(earlier) - set(result.files) - result.other_files):
        path = root / name
        if path.is_file() and _sha256(path.read_bytes()) == earlier[name]:  # generated, unedited
            path.unlink()
    for name, text in result.files.items():
        path = root / name
        if name in result.user_files and path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(text.encode())
    return result


def differences(
    profile: Profile, folder: str | os.PathLike[str], target: str, **options: Unpack[Options]
) -> list[str]:
    """Return what another export would change in a folder; an empty list if it is current."""
    root = Path(folder)
    earlier, models = _read_manifest(root)
    result = _render(profile, target, options, earlier, models)
    changes = [
        f"{name} is not part of this export"
        for name in earlier
        if name not in result.files and name not in result.other_files
    ]
    for name, text in result.files.items():
        path = root / name
        if not path.is_file():
            changes.append(f"{name} is missing")
        elif name not in result.user_files and path.read_bytes() != text.encode():
            changes.append(f"{name} differs")
    return sorted(changes)


def _render(
    profile: Profile,
    target: str,
    options: Options,
    earlier: dict[str, str],
    models: dict[str, Model],
) -> Export:
    """Every file of an export, in memory."""
    if target not in TARGETS:
        raise ExportError(f"target must be one of {', '.join(TARGETS)}, got {target!r}")
    system = TARGETS[target]
    if not (system.with_runtime or options.get("telemetry", True)):
        raise ExportError(f"target {target!r} needs telemetry: the runtime package has it")
    model_name = options.get("name", DEFAULT_NAME)
    others = {name: model for name, model in models.items() if name != model_name}
    sources, values, model = shared_sources(profile, others, **options)
    models = others | {model_name: model}
    other_files = frozenset(path for other in others.values() for path in other.files)
    names = ", ".join(f"`{name}`" for name in sorted(system.user_files))
    yours = f"The files {names} are yours to change.\nAll other files" if names else "All files"
    values |= {"TARGET": target, "YOURS": yours, "NAME_OPTION": ""}
    values["RUNTIME_NOTE"] = system.runtime_note.replace("@VERSION@", __version__)
    values["HEADERS"] = ", ".join(f"tcuq_{name}.h" for name in sorted(models))
    readme = "README.md"
    if model_name != DEFAULT_NAME:
        readme, values["NAME_OPTION"] = f"README-{model_name}.md", f" --name {model_name}"
    files = {f"src/{name}": text for name, text in sources.items()}
    if not system.with_runtime:
        files = {path: files[path] for path in model.files}
    paths = [*files, *other_files]
    files |= system.render([Path(path).name for path in paths], values, model_name)
    text = rename(render_template("README.md", values), model_name)
    files[readme] = text.replace("@BUILD@", system.build)
    models[model_name] = replace(model, files=(*model.files, readme))
    generated = sorted(set(files) - system.user_files)
    hashes = {name: _sha256(files[name].encode()) for name in generated}
    hashes |= {name: earlier[name] for name in other_files}
    manifest = {
        "tcuq": __version__,
        "for": target,
        "models": {name: models[name].as_json() for name in sorted(models)},
        "files": dict(sorted(hashes.items())),
    }
    files[MANIFEST] = json.dumps(manifest, indent=1) + "\n"
    return Export(target, files, system.user_files, other_files)


def _read_manifest(root: Path) -> tuple[dict[str, str], dict[str, Model]]:
    """Generated files with hashes, and models, of a folder; none if it is new or empty."""
    manifest = root / MANIFEST
    if not manifest.is_file():
        if root.is_dir() and any(root.iterdir()):
            raise ExportError(f"{root}: must be empty or an earlier export, which has {MANIFEST}")
        if root.exists() and not root.is_dir():
            raise ExportError(f"{root}: is not a folder")
        return {}, {}
    try:
        with manifest.open("rb") as file:
            document = json.loads(file.read(MAX_MANIFEST_BYTES))
        files = {str(name): str(value) for name, value in document["files"].items()}
        models = parse_models(document, files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ExportError(f"{manifest}: is damaged; export into a new folder") from None
    for name in files:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise ExportError(f"{manifest}: names a file outside the folder, {name[:80]!r}")
    return files, models


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
