# SPDX-License-Identifier: Apache-2.0
"""Renders the runtime package: one folder with the manifests of six registries.

Name, version, licence and keywords come from pyproject.toml and version.py, the sources from the
exporter, so that a profile of `tcuq export --for profile` compiles beside them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tcuq.demo import demo_profile
from tcuq.firmware import export
from tcuq.firmware.one_file import one_file
from tcuq.firmware.runtime_files import ota_files, runtime_digest, runtime_files, uplink_files
from tcuq.firmware.template_values import fill_template
from tcuq.version import __version__

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).parent / "templates"
BUILD = "tcuq_build.h"
PDSC = "tcuq.tcuq_runtime.pdsc"
EXAMPLE = "examples/Minimal"
NO_ADDRESS = "urn:tcuq"  # until the project has a public address


@dataclass(frozen=True, slots=True)
class Facts:
    """What every manifest states."""

    description: str
    licence: str
    keywords: tuple[str, ...]
    address: str

    def values(self, sources: Mapping[str, str]) -> dict[str, str]:
        """Return the values of the templates' @NAMES@."""
        compiled = sorted(name for name in sources if name.endswith(".c"))
        return {
            "VERSION": __version__,
            "DIGEST": runtime_digest(runtime_files()),
            "DESCRIPTION": self.description,
            "LICENCE": self.licence,
            "ADDRESS": self.address,
            "KEYWORDS": ", ".join(self.keywords),
            "KEYWORD_ELEMENTS": "".join(
                f"\n    <keyword>{word}</keyword>" for word in self.keywords
            ),
            "SOURCES": "\n".join(f"  src/{name}" for name in compiled),
            "FILE_ELEMENTS": "".join(
                f'\n        <file category="source" language="c" name="src/{name}"/>'
                for name in compiled
            ),
        }


def read_facts(address: str = "") -> Facts:
    """Read the facts from pyproject.toml; `address` replaces its setting."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = settings["project"]
    address = address or settings["tool"]["tcuq"]["address"] or NO_ADDRESS
    return Facts(project["description"], project["license"], tuple(project["keywords"]), address)


def package_files(facts: Facts, example: Path) -> dict[str, str]:
    """Return every file of the package by path; the example's profile is exported to a folder."""
    whole = runtime_files() | uplink_files() | ota_files()
    build = fill_template((TEMPLATES / BUILD).read_text("utf-8"), facts.values({}))
    sources = one_file(whole, build, __version__)
    values = facts.values(sources)
    files = {
        path.relative_to(TEMPLATES).as_posix(): fill_template(path.read_text("utf-8"), values)
        for path in sorted(TEMPLATES.rglob("*"))
        if path.is_file() and path.name != BUILD
    }
    files[PDSC] = files.pop("package.pdsc")
    files |= {f"src/{name}": text for name, text in sources.items()}
    exported = export(demo_profile(), example, "profile", name="demo")
    for path, text in exported.files.items():
        if path.startswith("src/"):
            files[f"{EXAMPLE}/{Path(path).name}"] = text
    files["LICENSE"] = (ROOT / "LICENSE").read_text("utf-8")
    return files


def write_package(folder: Path, facts: Facts, example: Path) -> None:
    """Write the package to a new folder."""
    for name, text in package_files(facts, example).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
