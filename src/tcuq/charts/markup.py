# SPDX-License-Identifier: Apache-2.0
"""HTML and SVG as a tree of elements: the serializer escapes every untrusted string."""

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

Child = ET.Element | str | float | None

# Control characters, lone surrogates and changes of text direction: no page may hold them.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def element(tag: str, *children: Child, **attributes: object) -> ET.Element:
    """Make an element; `class_` is class, `_` in other attributes is `-`, None leaves one out."""
    tree = ET.Element(
        tag,
        {
            "class" if name == "class_" else name.replace("_", "-"): printable(value)
            for name, value in attributes.items()
            if value is not None
        },
    )
    for child in children:
        if isinstance(child, ET.Element):
            tree.append(child)
        elif child is not None:
            _append_text(tree, printable(child))
    return tree


def _append_text(parent: ET.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def printable(value: object) -> str:
    """Untrusted text, with a mark in place of each character that no page may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Child]], caption: str = "", kind: str = ""
) -> ET.Element:
    """A table that scrolls by itself where the screen is narrow."""
    content = element(
        "table",
        element("caption", caption, class_="unseen") if caption else None,
        element("thead", element("tr", *(element("th", name, scope="col") for name in columns))),
        element("tbody", *(element("tr", *(element("td", c) for c in row)) for row in rows)),
    )
    region = {"role": "region", "aria_label": caption} if caption else {}
    return element("div", content, class_=f"scroll {kind}".strip(), tabindex=0, **region)


def html(tree: ET.Element) -> str:
    """The tree as HTML text."""
    return ET.tostring(tree, encoding="unicode", method="html")
