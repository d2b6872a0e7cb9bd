# SPDX-License-Identifier: Apache-2.0
"""Access control: users named by a trusted proxy, loopback only, and DNS rebinding."""

import pytest

from fleet.tests.fixtures.dashboard_server import get, live
from tcuq.cli import main
from tcuq.errors import InputError
from tcuq_fleet.serve import create_app, serve
from tcuq_fleet.serve.viewer import ProxyHeaders


def test_only_a_trusted_proxy_names_users(seeded: str) -> None:
    """A missing, empty or long user header and an untrusted address give 401; health is public."""
    header = "X-Forwarded-User"
    with live(seeded, ProxyHeaders(header)) as address:
        assert get(address).status == 401
        assert get(address, {header: ""}).status == 401
        assert get(address, {header: "x" * 300}).status == 401
        assert get(address, {"X-Forwarded-For": "127.0.0.1"}).status == 401
        assert get(f"{address}/api/suspects").status == 401
        assert get(f"{address}/static/fleet.css").status == 401
        response = get(address, {header: "ada <b>"})
        assert response.status == 200
        assert "ada &lt;b&gt;" in response.text
        assert get(f"{address}/healthz").status == get(f"{address}/metrics").status == 200
    with live(seeded, ProxyHeaders(header), "192.0.2.7") as address:
        assert get(address, {header: "ada"}).status == 401
        assert get(address, {header: "ada", "X-Forwarded-For": "192.0.2.7"}).status == 401
        assert get(f"{address}/metrics").status == 401
        assert get(f"{address}/healthz").status == 200


def test_a_foreign_host_name_is_refused(address: str) -> None:
    """A page that resolves its own name to 127.0.0.1 (DNS rebinding) gets 421."""
    assert get(address, {"Host": "evil.example"}).status == 421
    assert get(address, {"Host": "localhost:8050"}).status == 200


def test_other_machines_need_a_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    """Listening beyond this machine without a proxy is refused, and the error names the options."""
    with pytest.raises(InputError, match="add --user-header"):
        serve("dbname=x", host="0.0.0.0")  # noqa: S104 - refused
    with pytest.raises(InputError, match="trusted proxy must be"):
        create_app("dbname=x", ProxyHeaders("X-User"), ["proxy.example"])
    with pytest.raises(InputError, match="--groups-header needs --user-header"):
        ProxyHeaders(groups="X-Groups")
    assert main(["fleet", "serve", "--database", "dbname=x", "--host", "::"]) == 1
    assert "host must be this machine alone" in capsys.readouterr().err
    assert main(["fleet", "serve", "--database", "dbname=x", "--port", "0"]) == 1
