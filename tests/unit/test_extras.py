# SPDX-License-Identifier: Apache-2.0
import sys
from pathlib import Path

import pytest

from tcuq._extras import import_extra
from tcuq.errors import MissingExtraError


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the extra, even if a submodule was loaded earlier."""
    import pyarrow.parquet

    assert import_extra("pyarrow.parquet", "parquet") is pyarrow.parquet
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"^pyarrow is not .*'tcuq\[parquet\]'$"):
        import_extra("pyarrow.parquet", "parquet")


def test_a_broken_library_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an installed library misses a dependency, the error names the dependency."""
    (tmp_path / "half_installed.py").write_text("import what_it_needs\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="what_it_needs") as caught:
        import_extra("half_installed", "half")
    assert not isinstance(caught.value, MissingExtraError)
