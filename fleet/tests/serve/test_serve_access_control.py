# SPDX-License-Identifier: Apache-2.0
"""Access control: users named by a trusted proxy, loopback only, and DNS rebinding."""

from fleet.tests.fixtures.dashboard_server import get, live
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
