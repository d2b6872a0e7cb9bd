# SPDX-License-Identifier: Apache-2.0
"""Databases: one step of a judgement in each of several databases, all at the same time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from psycopg import Connection

T = TypeVar("T")


def in_each(
    connections: Sequence[Connection[Any]], step: Callable[[Connection[Any]], T]
) -> list[T]:
    """Return the step's result in each database, in their order."""
    if len(connections) == 1:
        return [step(connections[0])]
    with ThreadPoolExecutor(len(connections)) as threads:
        return list(threads.map(step, connections))
