# SPDX-License-Identifier: Apache-2.0
"""Access control: loopback only, or users authenticated by a trusted proxy; security headers."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from tcuq.errors import InputError
from tcuq_fleet.serve.viewer import ProxyHeaders, Viewer

Network = IPv4Network | IPv6Network

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
CACHE_FOREVER = "public, max-age=31536000, immutable"  # static URLs hold a digest
MAX_BODY_BYTES = 16_384
PUBLIC = ("/healthz", "/readyz")  # they reveal nothing about the fleet
PROXIES_ONLY = "/metrics"  # a scraper has no user, but connects from a trusted address
# Hosts that are answered without a proxy; others may be DNS rebinding by an untrusted page.
LOCAL_HOST = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?")


def networks(addresses: Sequence[str]) -> tuple[Network, ...]:
    """Parse proxies' addresses or networks."""
    try:
        return tuple(ip_network(address) for address in addresses)
    except ValueError as error:
        raise InputError(
            f"trusted proxy must be an address or a network such as 10.0.0.0/8: {error}"
        ) from None


class AccessControl:
    """ASGI middleware that refuses unauthenticated requests and adds security headers.

    Without a header in which a trusted proxy names the user, only this machine is answered.
    """

    def __init__(self, app: Any, headers: ProxyHeaders, trusted: tuple[Network, ...]) -> None:  # noqa: ANN401 - ASGI
        self._app = app
        self._headers = headers
        self._trusted = trusted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:  # noqa: ANN401 - ASGI
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                static = scope["path"].startswith("/static/") and message["status"] == 200
                cache = {"cache-control": CACHE_FOREVER if static else "no-store"}
                for name, value in (HEADERS | cache).items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = _refuse_body(Headers(scope=scope)) or self._refusal(scope)
        response = self._app if refusal is None else PlainTextResponse(refusal[1], refusal[0])
        await response(scope, receive, send_with_headers)

    def _refusal(self, scope: Any) -> tuple[int, str] | None:  # noqa: ANN401 - ASGI
        """Return why a request is refused, or None; put the viewer into the request's state."""
        scope.setdefault("state", {})["viewer"] = Viewer()
        if self._headers.user is None:
            hosts = Headers(scope=scope).getlist("host")
            if len(hosts) == 1 and LOCAL_HOST.fullmatch(hosts[0]):
                return None
            return 421, "This dashboard answers on this machine alone: open it as localhost.\n"
        if scope["path"] in PUBLIC:
            return None
        if not self._is_trusted(scope):
            return 401, "Open the dashboard through its proxy: this address is not trusted.\n"
        if scope["path"] == PROXIES_ONLY and self._headers.user not in Headers(scope=scope):
            return None
        return self._authenticate(scope)

    def _authenticate(self, scope: Any) -> tuple[int, str] | None:  # noqa: ANN401 - ASGI
        viewer = self._headers.viewer(Headers(scope=scope))
        if viewer is None:
            return 401, "Sign in: the proxy did not say who you are.\n"
        scope["state"]["viewer"] = viewer
        if scope["path"] == PROXIES_ONLY and not viewer.sees_all:
            return 403, "Metrics count all devices: they are for operators and for scrapers.\n"
        return None

    def _is_trusted(self, scope: Any) -> bool:  # noqa: ANN401 - ASGI
        if scope["client"] is None:
            return False
        try:
            address = ip_address(scope["client"][0])
        except ValueError:
            return False
        return any(address in network for network in self._trusted)


def _refuse_body(headers: Headers) -> tuple[int, str] | None:
    """Return why a request's body is refused, or None: its length must be known and small."""
    if "transfer-encoding" in headers:
        return 411, "Send the length of the body in Content-Length.\n"
    lengths = headers.getlist("content-length")
    if any(not value.isdigit() or int(value) > MAX_BODY_BYTES for value in lengths):
        return 413, f"A body must have at most {MAX_BODY_BYTES} bytes.\n"
    return None
