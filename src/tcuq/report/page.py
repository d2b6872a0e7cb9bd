# SPDX-License-Identifier: Apache-2.0
"""The page: sections, data, style and script in one file that fetches nothing."""

import base64
import hashlib
import html as escaping
import json
import math
from collections.abc import Mapping
from importlib import resources
from string import Template

from tcuq._charts import stylesheet
from tcuq._charts.markup import element, html, printable
from tcuq.profile import Profile
from tcuq.report import sections
from tcuq.report.cells import timeline
from tcuq.report.view import View, views
from tcuq.stream import Stream


def report(
    profiles: Mapping[str, Profile],
    stream: Stream,
    name: str = "stream",
    *,
    window: int = 100,
    rounds: int = 200,
) -> str:
    """What profiles would have done on a recorded stream, as one HTML page.

    The same profiles and stream give the same page, to the byte.

    Parameters
    ----------
    profiles
        By the names the page gives them; several are shown side by side.
    stream
        Recorded, with labels and `shifted` if known: what needs them is left out without.
    name
        The stream's, on the page.
    window
        Steps of the moving accuracy.
    rounds
        Bootstrap rounds of the intervals; 0 for none.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> page = report({"monitor": demo_profile()}, demo_stream("fault_gain"), rounds=0)
    >>> page.startswith("<!DOCTYPE html>") and len(page) < 2_000_000
    True
    """
    seen = views(profiles, stream, window=window, rounds=rounds)
    style, script = stylesheet() + _asset("page.css"), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}",
        title=escaping.escape(printable(f"{name}: tcuq report")),
        style=style,
        body=html(element("main", *sections.all_of(seen, name))),
        data=_data(seen),
        script=script,
    )


def _data(seen: list[View]) -> str:
    """The timelines; no string in it can end the element that holds it."""
    floor = seen[0].floor
    data = {
        "steps": len(seen[0].stream),
        "labelled": bool(seen[0].known.any()),
        "floor": None if math.isnan(floor) else floor,
        "views": [{"name": printable(v.name), **timeline(v, len(seen))} for v in seen],
    }
    return json.dumps(data).replace("<", "\\u003c")


def _source(text: str) -> str:
    """How a content security policy allows this text and no other."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _asset(name: str) -> str:
    return resources.files("tcuq.report").joinpath(name).read_text("utf-8")
