# SPDX-License-Identifier: Apache-2.0
"""View: what a page shows, read from its URL and written back into links."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from tcuq_fleet.serve.identifiers import ALL_DEVICES, FIRMWARE, PROFILE, SITE, Group
from tcuq_fleet.serve.levels import LOOSEST, STRICTEST
from tcuq_fleet.serve.queries import MAX_PAGE

HOURS = (24, 72, 168)

Level = Annotated[
    float | None,
    Query(ge=STRICTEST, le=LOOSEST, description="False-discovery level; default: the judge's."),
]
Page = Annotated[int, Query(ge=1, le=MAX_PAGE)]


def _or_empty(pattern: str) -> str:
    """Return a pattern that also matches the empty string, which a form sends for no choice."""
    return f"^({pattern.strip('^$')})?$"


@dataclass(frozen=True, slots=True)
class View:
    """The group shown, the false-discovery level and the number of hours."""

    group: Group = ALL_DEVICES
    level: float | None = None
    hours: int = HOURS[0]

    def link(self, path: str, group: Group | None = None, **changes: object) -> str:
        """Return a URL with this view and the changes given; the page number starts again."""
        level, hours = changes.pop("level", self.level), changes.pop("hours", self.hours)
        query: dict[str, object] = dict((self.group if group is None else group).parts)
        if level is not None:
            query["level"] = f"{level:g}"
        if hours != HOURS[0]:
            query["hours"] = hours
        query |= {name: value for name, value in changes.items() if value is not None}
        return f"{path}?{urlencode(query)}" if query else path

    @property
    def fleet(self) -> "View":
        """The same view of all devices."""
        return replace(self, group=ALL_DEVICES)


def parse_view(
    profile: Annotated[str, Query(pattern=_or_empty(PROFILE))] = "",
    firmware: Annotated[str, Query(pattern=_or_empty(FIRMWARE))] = "",
    site: Annotated[str, Query(pattern=_or_empty(SITE))] = "",
    level: Level = None,
    hours: Annotated[int, Query(ge=1, le=HOURS[-1])] = HOURS[0],
) -> View:
    """Read a view from a URL's query; round hours up to a span on offer."""
    span = next(offered for offered in HOURS if hours <= offered)
    return View(Group(profile or None, firmware or None, site or None), level, span)
