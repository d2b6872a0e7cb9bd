# SPDX-License-Identifier: Apache-2.0
"""Optional libraries, imported where they are used: running a profile needs NumPy alone."""

from importlib import import_module
from typing import Any

from tcuq.errors import MissingExtraError


def import_extra(module: str, extra: str) -> Any:  # noqa: ANN401 - a module
    """Import a module of an optional library, or name the extra that installs it."""
    library = module.partition(".")[0]
    try:
        import_module(library)  # a submodule loaded earlier would import without it
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != library:
            raise  # the library is installed but a dependency of it is not
        raise MissingExtraError(library, f"tcuq[{extra}]") from None
