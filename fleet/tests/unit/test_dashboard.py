# SPDX-License-Identifier: Apache-2.0
"""The dashboard without a database: who may listen where, and what pages state."""

import pytest
from starlette.datastructures import Headers

from tcuq.errors import InputError
from tcuq_fleet.serve import create_app, wording
from tcuq_fleet.serve.app import check_host
from tcuq_fleet.serve.viewer import ProxyHeaders, Viewer


def test_other_machines_need_a_proxy() -> None:
    """Listening beyond this machine without a proxy is refused, and the error names the options."""
    with pytest.raises(InputError, match="add --user-header"):
        check_host("0.0.0.0", None)  # noqa: S104 - refused
    with pytest.raises(InputError, match="trusted proxy must be"):
        create_app("dbname=x", ProxyHeaders("X-User"), ["proxy.example"])
    with pytest.raises(InputError, match="--groups-header needs --user-header"):
        ProxyHeaders(groups="X-Groups")


@pytest.mark.parametrize(
    ("headers", "viewer"),
    [
        ({"x-user": "ada", "x-groups": "a, b,"}, Viewer("ada", frozenset("ab"), may_act=False)),
        ({"x-user": "ada", "x-groups": "a,operators"}, Viewer("ada", None, may_act=True)),
        ({"x-user": "ada"}, Viewer("ada", frozenset(), may_act=False)),
        ({"x-groups": "a"}, None),
        ({"x-user": "ada", "x-groups": ",".join(map(str, range(257)))}, None),
        ({"x-user": "ada", "x-groups": "x" * 9000}, None),
    ],
)
def test_a_proxys_headers_name_the_viewer(headers: dict[str, str], viewer: Viewer | None) -> None:
    """Groups are owners' names; no user, or too many groups, is nobody."""
    assert ProxyHeaders("X-User", "X-Groups").viewer(Headers(headers)) == viewer


def test_a_repeated_header_names_nobody() -> None:
    """A proxy that adds a header instead of replacing it is not believed."""
    raw = [(b"x-user", b"ada"), (b"x-user", b"eve")]
    assert ProxyHeaders("X-User").viewer(Headers(raw=raw)) is None


def test_the_stated_delays_are_the_measured_ones() -> None:
    """The page's figures on detection delay are those of the committed results."""
    assert "half are found within 6 h" in wording.power(400, 1)
    assert "half are found within 2 h" in wording.power(3600, 1)
    assert "was not measured" in wording.power(10, 1)
