# SPDX-License-Identifier: Apache-2.0
"""What build systems ask of their manifests, where they publish no validator for Python.

Both are transcriptions by hand: of arduino-lint's JSON schema for `library.properties` (its
"specification" level, the members an export writes) and of the map that Zephyr's
`scripts/zephyr_module.py` checks a `module.yml` against.
"""

from typing import Any

SEMVER = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$"
NOT_ARDUINO = {"not": {"pattern": "^[aA][rR][dD][uU][iI][nN][oO]"}}
ALLOWED = r"[a-zA-Z0-9 _.\-]"
TEXT = {"type": "string", "minLength": 1}
LIBRARY_PROPERTIES: dict[str, Any] = {
    "type": "object",
    "required": [
        "name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url",
        "architectures",
    ],
    "properties": {
        "name": {
            **TEXT,
            **NOT_ARDUINO,
            "maxLength": 63,
            "pattern": rf"^([a-zA-Z]{ALLOWED}*|[0-9]{ALLOWED}*[a-zA-Z]{ALLOWED}*)$",
        },
        "version": {"type": "string", "pattern": SEMVER},
        "author": TEXT,
        "maintainer": {**TEXT, **NOT_ARDUINO},
        "sentence": TEXT,
        "paragraph": {"type": "string"},
        "category": {
            "enum": [
                "Display", "Communication", "Signal Input/Output", "Sensors", "Device Control",
                "Timing", "Data Storage", "Data Processing", "Other",
            ]
        },
        "url": {**TEXT, "pattern": r"^[a-zA-Z][a-zA-Z0-9+.\-]*:\S+$"},
        "architectures": TEXT,
        "includes": TEXT,
    },
    "additionalProperties": False,
}  # fmt: skip

FLAG, NAME = {"type": "boolean"}, {"type": "string"}
NAMES = {"type": "array", "items": NAME}
MODULE_YML: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": NAME,
        "build": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                **dict.fromkeys(("cmake", "kconfig", "sysbuild-cmake", "sysbuild-kconfig"), NAME),
                **dict.fromkeys(
                    ("cmake-ext", "kconfig-ext", "sysbuild-cmake-ext", "sysbuild-kconfig-ext"), FLAG
                ),
                "depends": NAMES,
                "settings": {"type": "object"},
            },
        },
        "tests": NAMES,
        "samples": NAMES,
        "boards": NAMES,
        "blobs": {"type": "array"},
    },
}
