# SPDX-License-Identifier: Apache-2.0
"""Folder store: append records to files that `tcuq fleet report` reads, without any server.

For a small fleet and one worker: the newest state of every device is held in memory. A site is a
folder, and every start of a worker writes new files, so that a record that a power cut truncated
stays at the end of its file. There is no registry: gateways may not send.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from tcuq.telemetry import PLAIN, decode, encode
from tcuq_fleet.store.batch import FORBIDDEN, Batch, Part
from tcuq_fleet.store.connection import DatabaseUnavailableError
from tcuq_fleet.store.dead_letters import DeadLetter
from tcuq_fleet.store.sites import Gateway
from tcuq_fleet.wire import ACK

Array = NDArray[Any]
State = tuple[int, int]  # boot and sequence, stored through this
NOTHING: State = (-1, -1)


class FolderStore:
    """Appends each batch to one file per site, and returns after the disk has it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states: dict[int, State] = {}
        self._sites: dict[int, str] = {}
        self._files: dict[str, BinaryIO] = {}
        folder.mkdir(parents=True, exist_ok=True)
        for site, records in _read(folder):
            self._remember(records, site)

    def put(self, parts: Sequence[Part], _: Iterable[DeadLetter]) -> tuple[Batch, NDArray[np.void]]:
        """Store parts; dead letters are counted by the worker's metrics alone."""
        singles = [part for part in parts if not isinstance(part.site, str)]
        names = sorted({name for part in singles for name in part.site})
        number = {name: i for i, name in enumerate(names, 1)}
        batch = Batch.of(
            [
                (
                    part.records,
                    FORBIDDEN
                    if isinstance(part.site, str)
                    else np.array([number[name] for name in part.site], np.int32),
                )
                for part in parts
            ],
            [part.trust for part in parts],
        )
        stored_sites = {
            device: number.get(self._sites[device], FORBIDDEN) if device in self._sites else 0
            for device in np.unique(batch.records["device"]).tolist()
        }
        batch.keep_sites(stored_sites)
        staged, _rounds = batch.rounds()
        acks = batch.records[list(ACK.names or ())].astype(ACK)
        newer = self._newer(batch, staged, acks)
        for place, name in enumerate(names, 1):
            self._append(batch.records[newer[batch.sites[newer] == place]], name)
        return batch, acks

    def gateway(self, _: str) -> Gateway | None:
        """Return None: without a registry no gateway may send."""
        return None

    def probe(self) -> None:
        """Raise `DatabaseUnavailableError` unless the folder can be written."""
        if not os.access(self._folder, os.W_OK):
            raise DatabaseUnavailableError(f"the folder {self._folder} cannot be written")

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _newer(
        self, batch: Batch, staged: NDArray[np.intp], acks: NDArray[np.void]
    ) -> NDArray[np.intp]:
        """Return the rows that are newer than the stored state; acknowledge the rest with it."""
        states: dict[int, State] = {}
        newer = []
        for row in staged.tolist():
            device, boot, sequence = (int(batch.records[name][row]) for name in ACK.names or ())
            state = states.get(device, self._states.get(device, NOTHING))
            if state < (boot, sequence):
                states[device] = (boot, sequence)
                newer.append(row)
            else:
                acks[row] = (device, *state)
        return np.array(newer, np.intp)

    def _append(self, records: Array, site: str) -> None:
        """Write records of a site durably."""
        if not len(records):
            return
        try:
            file = self._file(site)
            file.write(encode(records))
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            self.close()  # what was written in part stays at the end of its file
            raise DatabaseUnavailableError(f"the folder {self._folder}: {error}") from None
        self._remember(records, site)

    def _file(self, site: str) -> BinaryIO:
        if site not in self._files:
            (self._folder / site).mkdir(exist_ok=True)
            name = f"{time.time_ns():020}.records"
            self._files[site] = (self._folder / site / name).open("xb")
        return self._files[site]

    def _remember(self, records: Array, site: str) -> None:
        keys = zip(
            *(records[name].tolist() for name in ("device", "boot", "sequence")), strict=True
        )
        for device, boot, sequence in keys:
            self._states[device] = max(self._states.get(device, NOTHING), (boot, sequence))
            self._sites.setdefault(device, site)


def _read(folder: Path) -> Iterator[tuple[str, Array]]:
    """Read the complete records of every file, with their site."""
    for path in sorted(folder.glob("*/*.records")):
        content = path.read_bytes()
        yield (
            path.parent.name,
            decode(content[: len(content) // PLAIN.itemsize * PLAIN.itemsize]).records,
        )
