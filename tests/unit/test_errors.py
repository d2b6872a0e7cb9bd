# SPDX-License-Identifier: Apache-2.0
import inspect

import tcuq
from tcuq import errors


def test_every_error_is_public() -> None:
    """Whatever the library raises or warns of can be caught by a name in `tcuq`."""
    classes = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind)}
    assert set(classes) <= set(tcuq.__all__)
    assert all(getattr(tcuq, name) is kind for name, kind in classes.items())


def test_the_tree_names_every_error() -> None:
    """The module's docstring lists each class."""
    names = [name for name, kind in vars(errors).items() if inspect.isclass(kind)]
    assert all(name in (errors.__doc__ or "") for name in names)
