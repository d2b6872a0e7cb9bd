# SPDX-License-Identifier: Apache-2.0
"""The state of a page is its address: what is asked for is checked here, links are made here."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

from tcuq.fleet.serve.identity import EVERYBODY, FIRMWARE, PROFILE, SITE, Group
from tcuq.fleet.serve.levels import LOOSEST, STRICTEST
from tcuq.fleet.serve.queries import MAX_PAGE

HOURS = (24, 72, 168)

Level = Annotated[
    float | None,
    Query(ge=STRICTEST, le=LOOSEST, description="False-discovery level; default: the judge's."),
]
Page = Annotated[int, Query(ge=1, le=MAX_PAGE)]


def _or_empty(pattern: str) -> str:
    """A form sends what was not chosen as nothing."""
    return f"^({pattern.strip('^$')})?$"


@dataclass(frozen=True, slots=True)
class View:
    """What of the fleet is looked at, and how."""

    group: Group = EVERYBODY
    level: float | None = None
    hours: int = HOURS[0]

    def link(self, path: str, group: Group | None = None, **changes: object) -> str:
        """An address that keeps the view but for what changes; `page` starts again."""
        level, hours = changes.pop("level", self.level), changes.pop("hours", self.hours)
        asked: dict[str, object] = dict((self.group if group is None else group).parts)
        if level is not None:
            asked["level"] = f"{level:g}"
        if hours != HOURS[0]:
            asked["hours"] = hours
        asked |= {name: value for name, value in changes.items() if value is not None}
        return f"{path}?{urlencode(asked)}" if asked else path

    @property
    def fleet(self) -> "View":
        """The same, of all devices."""
        return replace(self, group=EVERYBODY)


def view(
    profile: Annotated[str, Query(pattern=_or_empty(PROFILE))] = "",
    firmware: Annotated[str, Query(pattern=_or_empty(FIRMWARE))] = "",
    site: Annotated[str, Query(pattern=_or_empty(SITE))] = "",
    level: Level = None,
    hours: Annotated[int, Query(ge=1, le=HOURS[-1])] = HOURS[0],
) -> View:
    """Read from an address."""
    span = next(known for known in HOURS if hours <= known)
    return View(Group(profile or None, firmware or None, site or None), level, span)
