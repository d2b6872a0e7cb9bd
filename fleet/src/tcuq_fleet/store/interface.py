# SPDX-License-Identifier: Apache-2.0
"""Interface: what a worker needs of a store, and the store that a setting names."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import InputError
from tcuq_fleet.store.batch import Batch, Part
from tcuq_fleet.store.claims import Claims
from tcuq_fleet.store.dead_letters import DeadLetter
from tcuq_fleet.store.folder import FolderStore
from tcuq_fleet.store.reconnecting import ReconnectingStore
from tcuq_fleet.store.sharded import Observer, ShardedStore
from tcuq_fleet.store.sites import Gateway

FOLDER = "folder:"


class RecordStore(Protocol):
    """A store of records. It raises `DatabaseUnavailableError` where a retry may help."""

    def put(
        self, parts: Sequence[Part], dead_letters: Iterable[DeadLetter]
    ) -> tuple[Batch, NDArray[np.void]]:
        """Store parts and dead letters durably; return the batch and one ack per row of it.

        A repeated or late record adds nothing, and its ack says what is stored. `batch.reasons`
        says which rows are refused: their acks must not be sent.
        """

    def gateway(self, name: str) -> Gateway | None:
        """Return a gateway's token and sites; None: it may not send."""

    def probe(self) -> None:
        """Raise `DatabaseUnavailableError` if a record could not be stored now; from any thread."""

    def close(self) -> None:
        """Release what is open; the next `put` opens it again."""


def open_store(
    database: str | Sequence[str], claims: Claims, observe: Observer = lambda _, __: None
) -> RecordStore:
    """Return the store that `postgresql://...`, several of these, or `folder:PATH` names.

    `observe` is called with the place of one of several databases, and whether it answers.
    """
    if not isinstance(database, str):
        if len(database) > 1:
            return ShardedStore(database, claims, observe)
        (database,) = database
    if database.startswith(FOLDER):
        if database == FOLDER:
            raise InputError("folder: must name a folder, such as folder:records, got none")
        return FolderStore(Path(database.removeprefix(FOLDER)))
    return ReconnectingStore(database, claims)
