# SPDX-License-Identifier: Apache-2.0
"""HTTP listener: bounds what clients can open before they have said anything.

A TLS handshake must end within a time. An address has a share of the connections, and the listener
a number of them: of too many, the address with the most loses its oldest. So neither files nor
memory of the process run out. Proxies on this machine, at 127.0.0.1 and ::1, have no share.
"""

import asyncio
import socket
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

HANDSHAKE_S = 5.0
MAX_OPEN = 300  # connections, with those in their handshake
MAX_PER_ADDRESS = 32
PROXIES = ("127.0.0.1", "::1")


class Connection(socket.socket):
    """An accepted connection that tells its listener when it is closed."""

    listener: "Listener"
    address: str

    @classmethod
    def of(cls, accepted: socket.socket, listener: "Listener", address: str) -> Self:
        """Take over an accepted socket."""
        one = cls(accepted.family, accepted.type, accepted.proto, accepted.detach())
        one.listener, one.address = listener, address
        listener.open[address].append(one)
        return one

    def close(self) -> None:
        """Close the connection, which counts no longer."""
        mine = self.listener.open[self.address]
        if self in mine:
            mine.remove(self)
        if not mine:
            del self.listener.open[self.address]
        super().close()


class Listener(socket.socket):
    """A listening socket with a limit of connections per address and in all."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__(family, socket.SOCK_STREAM)
        self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.open: defaultdict[str, list[Connection]] = defaultdict(list)
        self.refused = 0
        try:
            self.bind((host, port))
        except OSError:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection, or close it at once if its address has too many."""
        accepted, peer = super().accept()
        address = str(peer[0])
        if address not in PROXIES and len(self.open.get(address, ())) >= MAX_PER_ADDRESS:
            self.refused += 1
            accepted.close()
            raise ConnectionAbortedError(f"{address} has too many connections")
        connection = Connection.of(accepted, self, address)
        if sum(map(len, self.open.values())) > MAX_OPEN:
            self.refused += 1
            end_one(self.open)
        return connection, peer


def end_one(connections: Mapping[str, list[Connection]]) -> None:
    """End the oldest connection of the address with the most."""
    oldest = max(connections.values(), key=len).pop(0)
    with suppress(OSError):  # its peer may be gone
        oldest.shutdown(socket.SHUT_RDWR)  # its protocol sees the end and closes it


class BoundedLoop(asyncio.SelectorEventLoop):
    """An event loop whose TLS servers give a handshake a few seconds, not a minute."""

    async def create_server(self, *args: Any, **options: Any) -> asyncio.Server:  # noqa: ANN401
        """Create a server with the handshake's time limit."""
        if options.get("ssl") is not None:
            options["ssl_handshake_timeout"] = HANDSHAKE_S
        return await super().create_server(*args, **options)
