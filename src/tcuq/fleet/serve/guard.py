# SPDX-License-Identifier: Apache-2.0
"""Who may look: everyone on this machine, or whom a trusted proxy names; and what a page may do."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from tcuq.errors import InputError

Network = IPv4Network | IPv6Network

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
KEPT = b"public, max-age=31536000, immutable"  # an address has its content's digest
OPEN = ("/healthz", "/readyz")  # they tell nothing about the fleet
TRUSTED_ONLY = "/metrics"  # a scraper has no user; who is trusted could name any
NAME = re.compile(r"[\x21-\x7e][\x20-\x7e]{0,127}")
# A page of a stranger that points a name of its own at this machine is not answered.
LOCAL = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?")


def networks(addresses: Sequence[str]) -> tuple[Network, ...]:
    """Addresses of proxies, each alone or as a network."""
    try:
        return tuple(ip_network(address) for address in addresses)
    except ValueError as error:
        raise InputError(
            f"trusted proxy must be an address or a network such as 10.0.0.0/8: {error}"
        ) from None


class Guard:
    """Around the application.

    Parameters
    ----------
    app
        The application.
    user_header
        Where a proxy says who asks; None: nobody is asked, for this machine alone.
    trusted
        Whose word on that counts.
    """

    def __init__(self, app: Any, user_header: str | None, trusted: tuple[Network, ...]) -> None:  # noqa: ANN401 - ASGI
        self._app = app
        self._header = None if user_header is None else user_header.lower().encode()
        self._trusted = trusted

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def dressed(message: Any) -> None:  # noqa: ANN401 - ASGI
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                kept = scope["path"].startswith("/static/") and message["status"] == 200
                more = [*HEADERS, (b"cache-control", KEPT if kept else b"no-store")]
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in more if name not in there),
                ]
            await send(message)

        refused = self._refusal(scope)
        if refused is None:
            await self._app(scope, receive, dressed)
            return
        status, text = refused
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await dressed({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    def _refusal(self, scope: Any) -> tuple[int, str] | None:  # noqa: ANN401 - ASGI
        """Why a request is not answered, or None; names who asks in the request's state."""
        scope.setdefault("state", {})["user"] = None
        if self._header is None:
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) == 1 and LOCAL.fullmatch(hosts[0]):
                return None
            return 421, "This dashboard answers on this machine alone: open it as localhost.\n"
        if scope["path"] in OPEN:
            return None
        if not self._is_trusted(scope):
            return 401, "Open the dashboard through its proxy: this address is not trusted.\n"
        return None if scope["path"] == TRUSTED_ONLY else self._unnamed(scope)

    def _unnamed(self, scope: Any) -> tuple[int, str] | None:  # noqa: ANN401 - ASGI
        named = [value for name, value in scope["headers"] if name == self._header]
        user = named[0].decode("latin-1") if len(named) == 1 else ""
        if not NAME.fullmatch(user):
            return 401, "Sign in: the proxy did not say who you are.\n"
        scope["state"]["user"] = user
        return None

    def _is_trusted(self, scope: Any) -> bool:  # noqa: ANN401 - ASGI
        if scope["client"] is None:
            return False
        try:
            address = ip_address(scope["client"][0])
        except ValueError:
            return False
        return any(address in network for network in self._trusted)
