# SPDX-License-Identifier: Apache-2.0
"""Viewer: who looks at the dashboard, which owners' sites they see, and whether they may act."""

import re
from dataclasses import dataclass

from starlette.datastructures import Headers

from tcuq.errors import InputError

USER = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,127}")
MAX_GROUPS, MAX_GROUPS_BYTES = 256, 8192


@dataclass(frozen=True, slots=True)
class Viewer:
    """A user as the proxy names them; without a proxy, whoever uses this machine."""

    user: str | None = None  # None without a proxy
    groups: frozenset[str] | None = None  # owners whose sites are visible; None: all sites
    may_act: bool = True  # acknowledge, mute, retire and release

    @property
    def sees_all(self) -> bool:
        """Whether no site is hidden."""
        return self.groups is None


@dataclass(frozen=True, slots=True)
class ProxyHeaders:
    """Headers in which a trusted proxy names users and their groups, separated by commas.

    Without a header for groups all users see everything and nobody may act.
    """

    user: str | None = None  # None: no proxy, and only this machine is answered
    groups: str | None = None
    operators: str = "operators"  # group that sees all and may act; others are owners' names

    def __post_init__(self) -> None:
        if self.groups is not None and self.user is None:
            raise InputError("--groups-header needs --user-header: groups are a user's")

    def viewer(self, headers: Headers) -> Viewer | None:
        """Return who sends these headers; None if they do not say."""
        user = _single(headers, self.user)
        if user is None or not USER.fullmatch(user):
            return None
        if self.groups is None:
            return Viewer(user, None, may_act=False)
        text = _single(headers, self.groups)
        if text is None or len(text) > MAX_GROUPS_BYTES:
            return None
        groups = frozenset(name.strip() for name in text.split(",")) - {""}
        if len(groups) > MAX_GROUPS:
            return None
        if self.operators in groups:
            return Viewer(user, None, may_act=True)
        return Viewer(user, groups, may_act=False)


def _single(headers: Headers, name: str | None) -> str | None:
    """Return a header's value; "" if it is missing, None if it is repeated."""
    values = headers.getlist(name) if name else []
    return None if len(values) > 1 else "".join(values)
