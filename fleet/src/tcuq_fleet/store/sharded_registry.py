# SPDX-License-Identifier: Apache-2.0
"""Sharded registry: the registry of several databases.

An act on a device needs its database alone. Sites, owners and gateways are in every database, so
acts on them need all: while one is away they fail, and may be repeated.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from math import isfinite
from typing import Any, Self

import numpy as np
import psycopg
from psycopg import Connection

from tcuq_fleet.store.connection import MIGRATE, Use, parameters, time_limit
from tcuq_fleet.store.directory import copy_directory
from tcuq_fleet.store.places import Place, check_count, guard, place_of
from tcuq_fleet.store.registry import Enrolment, Entry, Registry


class ShardedRegistry:
    """Acts on the registry of one or several databases; it connects to those that an act needs."""

    def __init__(self, databases: Sequence[str], by: str | None = None, use: Use = MIGRATE) -> None:
        check_count(databases)
        self._databases, self._by, self._use = databases, by, use
        self._connections: dict[int, Connection[Any]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def enrol(self, rows: Sequence[Enrolment]) -> int:
        """Enrol devices, create their sites and set the sites' owners; return how many devices."""
        self._change_directory(lambda first: first.enrol_sites(rows))
        places = place_of(np.array([row.device for row in rows], np.uint64), len(self._databases))
        for at in np.unique(places).tolist():
            with self._registry(at) as registry:
                registry.enrol([row for row, of in zip(rows, places, strict=True) if of == at])
        return len(rows)

    def move(self, device: int, site: str) -> None:
        """Move a device to another site, which is created if it does not exist."""
        with self._of(device) as registry:
            registry.check(device)
        self._change_directory(lambda first: first.enrol_sites([Enrolment(device, site)]))
        with self._of(device) as registry:
            registry.move(device, site)

    def mute(self, device: int, until: datetime, note: str | None = None) -> None:
        """Send no alerts about a device until a time; it is judged as before."""
        with self._of(device) as registry:
            registry.mute(device, until, note)

    def retire(self, device: int, note: str | None = None) -> None:
        """Store and judge no further records of a device; enrolling it again ends that."""
        with self._of(device) as registry:
            registry.retire(device, note)

    def release(self, device: int) -> int:
        """Accept the boot of the device's quarantined record; return it."""
        with self._of(device) as registry:
            return registry.release(device)

    def list(self, site: str | None = None, limit: int = 1000) -> "list[Entry]":
        """Return the devices in the registry or in quarantine, in the order of their ids."""
        entries: list[Entry] = []
        for at in range(len(self._databases)):
            entries += Registry(self._connection(at), self._by).list(site, limit)
        return entries[:limit] if len(self._databases) == 1 else sorted(entries)[:limit]

    def add_gateway(
        self,
        name: str,
        sites: Iterable[str],
        owner: str | None = None,
        token_sha256: bytes | None = None,
    ) -> None:
        """Let a gateway speak for these sites, which are created if needed, and no others."""
        self._change_directory(lambda first: first.add_gateway(name, sites, owner, token_sha256))

    def remove_gateway(self, name: str) -> None:
        """Refuse a gateway's messages from now on; its devices stay."""
        self._change_directory(lambda first: first.remove_gateway(name))

    def _change_directory(self, act: Callable[[Registry], object]) -> None:
        """Act in the first database and copy the result to the others, which all must answer."""
        connections = [self._connection(at) for at in range(len(self._databases))]
        act(Registry(connections[0], self._by))
        copy_directory(connections)

    def _of(self, device: int) -> AbstractContextManager[Registry]:
        (at,) = place_of(np.array([device], np.uint64), len(self._databases)).tolist()
        return self._registry(at)

    @contextmanager
    def _registry(self, at: int) -> Iterator[Registry]:
        connection = self._connection(at)
        with connection.transaction(), connection.cursor() as cursor:
            guard(cursor, Place(at, len(self._databases)))
            yield Registry(connection, self._by)

    def _connection(self, at: int) -> Connection[Any]:
        if at not in self._connections:
            connection = psycopg.connect(
                autocommit=True, **parameters(self._databases[at], self._use)
            )
            self._connections[at] = self._stack.enter_context(connection)
            if isfinite(self._use.limit_s):
                self._stack.enter_context(time_limit(connection, self._use.limit_s))
        return self._connections[at]
