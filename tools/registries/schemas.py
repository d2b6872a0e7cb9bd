# SPDX-License-Identifier: Apache-2.0
"""Schemas of manifests whose build systems publish no validator for Python.

All are transcribed by hand: of arduino-lint's JSON schema for `library.properties` (its
"specification" level, the members an export writes), of the map that Zephyr's
`scripts/zephyr_module.py` checks a `module.yml` against, and of Open-CMSIS-Pack's PACK.xsd 1.7.60
(the elements and attributes that the runtime package writes).
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

RELEASE = r"[0-9]+\.[0-9]+\.[0-9]+"  # of a pack, without quality and build
PACK_XSD = f"""
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="name"><xs:restriction base="xs:string">
    <xs:pattern value="[\\-_A-Za-z0-9]+"/></xs:restriction></xs:simpleType>
  <xs:simpleType name="version"><xs:restriction base="xs:string">
    <xs:pattern value="{RELEASE}"/></xs:restriction></xs:simpleType>
  <xs:simpleType name="category"><xs:restriction base="xs:token">
    <xs:enumeration value="doc"/><xs:enumeration value="include"/>
    <xs:enumeration value="source"/></xs:restriction></xs:simpleType>
  <xs:complexType name="file">
    <xs:attribute name="category" type="category" use="required"/>
    <xs:attribute name="language"><xs:simpleType><xs:restriction base="xs:token">
      <xs:enumeration value="c"/></xs:restriction></xs:simpleType></xs:attribute>
    <xs:attribute name="name" type="xs:string" use="required"/>
  </xs:complexType>
  <xs:complexType name="component"><xs:all>
      <xs:element name="description" type="xs:string"/>
      <xs:element name="files"><xs:complexType><xs:sequence>
        <xs:element name="file" type="file" maxOccurs="unbounded"/>
      </xs:sequence></xs:complexType></xs:element>
    </xs:all>
    <xs:attribute name="Cclass" type="xs:string" use="required"/>
    <xs:attribute name="Cgroup" type="xs:string" use="required"/>
    <xs:attribute name="Csub" type="xs:string"/>
    <xs:attribute name="Cversion" type="version" use="required"/>
  </xs:complexType>
  <xs:element name="package"><xs:complexType><xs:all>
      <xs:element name="vendor" type="name"/>
      <xs:element name="name" type="name"/>
      <xs:element name="description"><xs:complexType><xs:simpleContent>
        <xs:extension base="xs:string"><xs:attribute name="overview" type="xs:string"/>
        </xs:extension></xs:simpleContent></xs:complexType></xs:element>
      <xs:element name="url" type="xs:anyURI"/>
      <xs:element name="license" type="xs:string" minOccurs="0"/>
      <xs:element name="releases"><xs:complexType><xs:sequence>
        <xs:element name="release" maxOccurs="unbounded"><xs:complexType><xs:simpleContent>
          <xs:extension base="xs:string">
            <xs:attribute name="version" type="version" use="required"/>
            <xs:attribute name="date" type="xs:date"/>
          </xs:extension></xs:simpleContent></xs:complexType></xs:element>
      </xs:sequence></xs:complexType></xs:element>
      <xs:element name="keywords" minOccurs="0"><xs:complexType><xs:sequence>
        <xs:element name="keyword" type="xs:string" maxOccurs="unbounded"/>
      </xs:sequence></xs:complexType></xs:element>
      <xs:element name="components"><xs:complexType><xs:sequence>
        <xs:element name="component" type="component" maxOccurs="unbounded"/>
      </xs:sequence></xs:complexType></xs:element>
    </xs:all>
    <xs:attribute name="schemaVersion" type="xs:string" use="required"/>
  </xs:complexType></xs:element>
</xs:schema>
"""
