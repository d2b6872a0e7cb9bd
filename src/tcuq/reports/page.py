# SPDX-License-Identifier: Apache-2.0
"""The page: sections, data, style and script in one file without external requests."""

import base64
import hashlib
import html as escaping
import json
import math
from collections.abc import Mapping
from importlib import resources
from string import Template

from tcuq.charts import stylesheet
from tcuq.charts.markup import element, html, printable
from tcuq.profile import Profile
from tcuq.reports import sections
from tcuq.reports.timeline import timeline
from tcuq.reports.view import View, views
from tcuq.stream import Stream


def report(
    profiles: Mapping[str, Profile],
    stream: Stream,
    name: str = "stream",
    *,
    window: int = 100,
    rounds: int = 200,
) -> str:
    """Describe what profiles would have done on a recorded stream, as one HTML page.

    The same profiles and stream give the same page, byte for byte.

    Parameters
    ----------
    profiles
        By the names that the page shows; several are shown side by side.
    stream
        With labels and `shifted` if known; without them the page leaves out what needs them.
    name
        The stream's name on the page.
    window
        Steps of the moving accuracy.
    rounds
        Bootstrap rounds of the confidence intervals; 0 for none.

    Examples
    --------
    >>> from tcuq.demo import demo_profile, demo_stream
    >>> page = report({"monitor": demo_profile()}, demo_stream("fault_clipping"), rounds=0)
    >>> page.startswith("<!DOCTYPE html>") and len(page) < 2_000_000
    True
    """
    shown = views(profiles, stream, window=window, rounds=rounds)
    style, script = stylesheet() + _asset("page.css"), _asset("page.js")
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}",
        title=escaping.escape(printable(f"{name}: tcuq report")),
        style=style,
        body=html(element("main", *sections.sections(shown, name))),
        data=_data(shown),
        script=script,
    )


def _data(shown: list[View]) -> str:
    """The timelines as JSON that cannot close the script element around it."""
    floor = shown[0].floor
    data = {
        "steps": len(shown[0].stream),
        "labelled": bool(shown[0].known.any()),
        "floor": None if math.isnan(floor) else floor,
        "views": [{"name": printable(v.name), **timeline(v, len(shown))} for v in shown],
    }
    return json.dumps(data).replace("<", "\\u003c")


def _source(text: str) -> str:
    """The source expression that lets a content security policy allow this text alone."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _asset(name: str) -> str:
    return resources.files("tcuq.reports").joinpath(name).read_text("utf-8")
