# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG as a tree, so that every string of a stranger is escaped by the serializer."""

import re
from xml.etree import ElementTree as ET

Child = ET.Element | str | float | None

# A page cannot hold these: no character of their own, or half of one.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def element(tag: str, *children: Child, **attributes: object) -> ET.Element:
    """An element; `class_` is class, `_` in other attributes is `-`, None leaves out."""
    made = ET.Element(
        tag,
        {
            "class" if name == "class_" else name.replace("_", "-"): printable(value)
            for name, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        if isinstance(child, ET.Element):
            made.append(child)
        elif child is not None:
            _say(made, printable(child))
    return made


def _say(parent: ET.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def printable(value: object) -> str:
    """A stranger's text without what cannot be shown or would turn the text around it."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def html(tree: ET.Element) -> str:
    """The tree as HTML."""
    return ET.tostring(tree, encoding="unicode", method="html")
