# SPDX-License-Identifier: Apache-2.0
"""The folder store: complete records of a damaged file count, and a folder has a name."""

from pathlib import Path

import pytest

from fleet.tests.fixtures.records import records_of, send
from tcuq.errors import InputError
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.store.claims import OPEN
from tcuq_fleet.store.folder import FolderStore
from tcuq_fleet.store.interface import open_store


def test_a_truncated_record_at_the_end_of_a_file_is_sent_again(tmp_path: Path) -> None:
    """After a power cut the complete records count, and the truncated one is stored anew."""
    folder = FolderStore(tmp_path)
    send(folder, records_of([7, 8]))
    folder.close()
    (file,) = tmp_path.glob("berlin/*.records")
    file.write_bytes(file.read_bytes()[:-5])
    again = FolderStore(tmp_path)
    send(again, records_of([8]))
    again.close()
    assert sorted(read_folder(tmp_path).devices["device"].tolist()) == [7, 8]


def test_a_folder_without_a_name_is_refused() -> None:
    """`folder:` alone would write into the working folder."""
    with pytest.raises(InputError, match="must name a folder"):
        open_store("folder:", OPEN)
