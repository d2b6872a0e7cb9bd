# SPDX-License-Identifier: Apache-2.0
"""The dashboard, served on a free port of this machine, and what it answers."""

import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from types import MappingProxyType

import uvicorn

from tcuq.fleet.serve import create_app
from tcuq.fleet.serve.app import NO_PROXY
from tcuq.fleet.serve.viewer import ProxyHeaders

START_S = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


@contextmanager
def live(database: str, headers: ProxyHeaders = NO_PROXY, *trusted: str) -> Iterator[str]:
    """Its address while it is served."""
    app = create_app(database, headers, trusted or ("127.0.0.1",))
    settings = uvicorn.Config(app, port=0, log_level="critical", proxy_headers=False)
    server = uvicorn.Server(settings)
    thread = threading.Thread(target=server.run)
    thread.start()
    end = time.monotonic() + START_S
    while not server.started:
        if time.monotonic() > end or not thread.is_alive():
            raise TimeoutError("the dashboard does not start")
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def get(url: str, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
    """One GET request; a refusal is an answer, too."""
    return _answer(urllib.request.Request(url, headers=dict(headers)))  # noqa: S310 - loopback


def post(url: str, headers: Mapping[str, str] = MappingProxyType({}), body: bytes = b"") -> Answer:
    """One POST request; its answer is that of the page to which it redirects."""
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - loopback
    return _answer(request)


def _answer(request: urllib.request.Request) -> Answer:
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
            return Answer(answer.status, _named(answer.headers), answer.read().decode())
    except urllib.error.HTTPError as refusal:
        with refusal:
            return Answer(refusal.code, _named(refusal.headers), refusal.read().decode())


def _named(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
