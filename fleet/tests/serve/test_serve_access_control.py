# SPDX-License-Identifier: Apache-2.0
"""Access control: users named by a trusted proxy, loopback only, and DNS rebinding."""

from fastapi.testclient import TestClient

from fleet.tests.fixtures.dashboard_server import get, live
from tcuq_fleet.serve.app import create_app, monitoring_app
from tcuq_fleet.serve.viewer import ProxyHeaders


def test_only_a_trusted_proxy_names_users(seeded: str) -> None:
    """A missing, empty or long user header and an untrusted address give 401; health is public."""
    header = "X-Forwarded-User"
    with live(seeded, ProxyHeaders(header)) as address:
        assert get(address).status_code == 401
        assert get(address, {header: ""}).status_code == 401
        assert get(address, {header: "x" * 300}).status_code == 401
        assert get(address, {"X-Forwarded-For": "127.0.0.1"}).status_code == 401
        assert get(f"{address}/api/suspects").status_code == 401
        assert get(f"{address}/static/fleet.css").status_code == 401
        response = get(address, {header: "ada <b>"})
        assert response.status_code == 200
        assert "ada &lt;b&gt;" in response.text
        assert get(f"{address}/healthz").status_code == get(f"{address}/metrics").status_code == 200
    with live(seeded, ProxyHeaders(header), "192.0.2.7") as address:
        assert get(address, {header: "ada"}).status_code == 401
        assert get(address, {header: "ada", "X-Forwarded-For": "192.0.2.7"}).status_code == 401
        assert get(f"{address}/metrics").status_code == 401
        assert get(f"{address}/healthz").status_code == 200


def test_a_foreign_host_name_is_refused(address: str) -> None:
    """A page that resolves its own name to 127.0.0.1 (DNS rebinding) gets 421."""
    assert get(address, {"Host": "evil.example"}).status_code == 421
    assert get(address, {"Host": "localhost:8050"}).status_code == 200


def test_the_port_for_metrics_shows_no_page_and_names_no_user(seeded: str) -> None:
    """A scraper reads health and metrics there; users' names are believed on the other port."""
    dashboard = create_app(seeded, ProxyHeaders("X-Forwarded-User"), ["192.0.2.7"])
    with TestClient(dashboard), TestClient(monitoring_app(dashboard)) as client:
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.get(path).status_code == 200
        for path in ("/", "/api/fleet", "/openapi.json"):
            assert client.get(path, headers={"X-Forwarded-User": "ada"}).status_code == 404
