# SPDX-License-Identifier: Apache-2.0
"""The public API names and explains its options; type checkers see it in `make types`."""

import inspect
from dataclasses import fields

import tcuq
from tcuq.options import FitOptions


def test_every_option_is_a_typed_keyword() -> None:
    """Each option has a name, a type and a place in the docstring."""
    parameters = inspect.signature(tcuq.fit).parameters
    assert {field.name for field in fields(FitOptions)} < set(parameters)
    for parameter in parameters.values():
        assert parameter.kind is not inspect.Parameter.VAR_KEYWORD
        assert parameter.annotation is not inspect.Parameter.empty
        assert parameter.name in (tcuq.fit.__doc__ or "")


def test_a_profile_is_short_on_screen(profile: tcuq.Profile) -> None:
    """A profile holds thousands of numbers; its repr is a line."""
    assert len(repr(profile)) <= 600
    assert repr(profile).startswith(f"<Profile {profile.sha256[:8]}: 10 classes, 32 features")
