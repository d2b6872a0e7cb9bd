# SPDX-License-Identifier: Apache-2.0
"""Checks manifests against the registries' own schema files, which this repository does not hold.

A folder has them under their own names: PACK.xsd (Open-CMSIS-Pack-Spec), three schemas of
arduino-lint's etc/schemas, and Zephyr's scripts/zephyr_module.py.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker
from lxml import etree
from referencing import Registry, Resource

from tools.registries.package import PDSC

ARDUINO = (
    "arduino-library-properties-strict-schema.json",
    "arduino-library-properties-definitions-schema.json",
    "general-definitions-schema.json",
)
ZEPHYR_SCHEMA = re.compile(r"METADATA_SCHEMA = r?'''(.*?)'''", re.DOTALL)


def check_published(package: Path, schemas: Path) -> dict[str, str]:
    """Return the schema file of each registry that accepts its manifest; raise for another."""
    etree.XMLSchema(etree.parse(schemas / "PACK.xsd")).assertValid(etree.parse(package / PDSC))
    documents = [json.loads((schemas / name).read_text("utf-8")) for name in ARDUINO]
    resources = [Resource[Any].from_contents(document) for document in documents]
    registry: Registry[Any] = resources @ Registry()
    lines = (package / "library.properties").read_text("utf-8").splitlines()
    manifest = dict(line.split("=", 1) for line in lines)
    Draft7Validator(documents[0], registry=registry, format_checker=FormatChecker()).validate(
        manifest
    )
    text = ZEPHYR_SCHEMA.search((schemas / "zephyr_module.py").read_text("utf-8"))
    if text is None:
        raise ValueError("zephyr_module.py must hold METADATA_SCHEMA")
    module = yaml.safe_load((package / "zephyr/module.yml").read_text("utf-8"))
    Draft202012Validator(yaml.safe_load(text[1])).validate(module)
    return {
        "Arduino Library Manager": f"{ARDUINO[0]}, as published",
        "Zephyr module": "METADATA_SCHEMA of zephyr_module.py, as published",
        "CMSIS-Pack": "PACK.xsd, as published",
    }
